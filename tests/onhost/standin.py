"""A stand-in for an SGLang server, for tests of what runs on a host: real processes, sockets, signals; no model.

It behaves as SGLang was seen to: scheduler children that rename themselves, die with their parent and stay in its
session; an HTTP port that is bound late, says 503 first and then 200; SIGTERM to main alone ends it in good order,
SIGTERM to a scheduler is taken for a crash. Python 3.8+, standard library only.

    standin.py --port N --titles sglang::scheduler_TP0,sglang::detokenizer [--bind-after S] [--crash-pause S]
               [--ignore-term] [--orphans]  some-padding-so-that-a-title-fits
"""

import argparse
import ctypes
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PR_SET_PDEATHSIG = 1
SETTINGS = {
    "model_path": "/srv/model",
    "served_model_name": "tiny",
    "attention_backend": None,
    "max_total_tokens": 2048,
    "api_key": "k3y",
    "hf_token": "t0ken",
    "a_list": [1, 2],
    "version": "0.0-stand-in",
    "internal_states": [{"attention_backend": "torch_native", "admin_api_key": "k3y", "a_dict": {"b": 1}}],
}
STARTING = 2  # answers of 503 before the first 200


def say(text: str) -> None:
    print(time.strftime("[%Y-%m-%d %H:%M:%S] ") + text, flush=True)


def rename(title: str) -> None:
    """Write over the arguments in our own memory, as setproctitle does."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])  # arg_start, arg_end: fields 48 and 49 of proc(5)
    with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        memory.seek(begin)
        memory.write(title.encode()[: end - begin].ljust(end - begin, b"\0"))


def scheduler(title: str, orphan: bool) -> None:
    """A child: renamed, waits for its end. An orphan outlives its parent."""
    if not orphan:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def crash(*_: object) -> None:
        say(title + " was sent SIGTERM")
        os._exit(1)

    signal.signal(signal.SIGTERM, crash)
    rename(title)
    while True:
        signal.pause()


class Answers(BaseHTTPRequestHandler):
    asked = 0

    def _answer(self, status: int, body: object = "") -> None:
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        if self.path == "/health":
            Answers.asked += 1
            self._answer(200 if Answers.asked > STARTING else 503)
        elif self.path == "/get_server_info":
            self._answer(200, SETTINGS)
        else:
            self._answer(404)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/chat/completions":
            self._answer(400, {"message": "this model has no chat template"})
        else:
            text = f"{self.headers.get('Authorization')} {asked['prompt']}"
            self._answer(200, {"choices": [{"text": text}], "usage": {"completion_tokens": asked["max_tokens"]}})

    def log_message(self, *_: object) -> None:
        pass


def serve(port: int, after: float) -> None:
    time.sleep(after)
    ThreadingHTTPServer(("127.0.0.1", port), Answers).serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--titles", default="")
    parser.add_argument("--bind-after", type=float, default=0.2)
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--orphans", action="store_true")
    parser.add_argument("--crash-pause", type=float, default=1.0)
    parser.add_argument("padding", nargs="*")
    args = parser.parse_args()
    ending = threading.Event()
    children = {}
    for title in filter(None, args.titles.split(",")):
        pid = os.fork()
        if pid == 0:
            scheduler(title, args.orphans)
        children[pid] = title
    if args.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: ending.set())
    if args.port:
        threading.Thread(target=serve, args=(args.port, args.bind_after), daemon=True).start()
    say("started")
    while not ending.wait(0.05):
        pid, status = os.waitpid(-1, os.WNOHANG) if children else (0, 0)
        if pid:
            say(f"Subprocess {children[pid]} (pid={pid}) crashed with exit code {-(status & 127)}.")
            time.sleep(args.crash_pause)
            for other in children:
                if other != pid:
                    os.kill(other, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
    say("SIGTERM received. Draining")
    if not args.orphans:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
    say("bye")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
