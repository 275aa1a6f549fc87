"""A stand-in for SGLang: its words, processes, socket and answers without its model. Runs on a lab host.

What it prints are lines of real 0.5.23 logs (`lines.json` beside it). As the real one it forks a scheduler a rank that
renames itself, stays in main's session and dies with main; main alone listens on the port; /health is 503 until it is
ready; SIGTERM to main drains; a scheduler's death ends it all. Nodes above 0 ignore SIGTERM and end with node 0.

It obeys these variables, so that a test needs no timing:
    STANDIN_SECONDS   from start to ready (0.5)         STANDIN_HOLD      waits at: loading, bind, ready, word
    STANDIN_DEAF      "1": ignores SIGTERM              STANDIN_UNBOUND   "1": never listens, says ready all the same
    STANDIN_SETTINGS  JSON laid over /server_info       STANDIN_CHATTER   seconds between two lines once it is up
    STANDIN_EXIT      ends with this status at once     STANDIN_DRIP      "1": one line in many writes of one byte
    STANDIN_PAUSE     from a rank's death to main's own end (1 s)
    STANDIN_FAILS     "PLACE PART STATUS": at a place as above (or "start") says that part of real logs and ends so
A hold ends when the file ~/go-PORT appears; while there is a file ~/sick-PORT /health is 503.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any

LINES: dict[str, list[str]] = json.loads(Path(__file__).with_name("lines.json").read_text(encoding="utf-8"))
PR_SET_PDEATHSIG = 1
DRIP = "Überprüfung läuft: 日本語 🏖️ fertig"


def wish(name: str, otherwise: str = "") -> str:
    """What the test asks for."""
    return os.environ.get("STANDIN_" + name) or otherwise


def arguments(argv: list[str]) -> dict[str, Any]:
    """`--tp-size 2 --disable-x` -> {"tp_size": 2, "disable_x": True}."""
    found: dict[str, Any] = {"tp_size": 1, "pp_size": 1, "dp_size": 1, "nnodes": 1, "node_rank": 0, "host": "127.0.0.1"}
    for i, word in enumerate(argv):
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            following = argv[i + 1] if i + 1 < len(argv) and not argv[i + 1].startswith("--") else ""
            text = value or following
            found[name.replace("-", "_")] = int(text) if text.isdigit() else text or True
    return found


ARGS = arguments(sys.argv[1:])
PORT = int(ARGS.get("port", 30000))
READY = threading.Event()
ENDING = threading.Event()


def say(text: str, label: str = "") -> None:
    """One line of the log, in one write."""
    head = time.strftime("[%Y-%m-%d %H:%M:%S") + (" " + label if label else "") + "] "
    os.write(1, (head + text + "\n").encode())


def hold(place: str) -> None:
    """Wait here if that is asked for, until the test says go; fail here if that is."""
    while wish("HOLD") == place and not (Path.home() / f"go-{PORT}").exists():
        time.sleep(0.02)
    failing, part, status = (wish("FAILS") or "  ").split(" ")
    if failing == place:
        for line in LINES[part]:
            os.write(1, (line + "\n").encode())
        end(int(status))


def rename(title: str) -> None:
    """Write over our own arguments in memory, as setproctitle does."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, fields 48 and 49 of proc(5)
    with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        memory.seek(begin)
        memory.write(title.encode()[: end - begin].ljust(end - begin, b"\0"))


class Rank:
    """One scheduler of this node."""

    def __init__(self, pp: int, tp: int) -> None:
        axes = [f"{name}{place}" for name, place in (("PP", pp), ("TP", tp)) if ARGS[name.lower() + "_size"] > 1]
        self.label = " ".join(axes)
        self.title = "sglang::scheduler" + "".join("_" + axis for axis in axes)

    def live(self, ready: int) -> None:
        """In the child: say the milestones, then serve for ever."""
        become_child(self.title)
        pause = float(wish("SECONDS", "0.5")) / len(LINES["rank"])
        for text in LINES["rank"]:
            say(text, self.label)
            if text.startswith("Load weight begin"):
                hold("loading")
            time.sleep(pause)
        os.write(ready, b"!")
        chatter, count = float(wish("CHATTER", "0")), 0
        while True:
            time.sleep(chatter or 3600)
            count += 1
            say(LINES["batch"][0].replace("#new-token: 1,", f"#new-token: {count},"), self.label)


def become_child(title: str) -> None:
    """Renamed, dead when main dies, ended by SIGTERM."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    rename(title)


def fork(work: Any) -> int:
    """A child that does the work and nothing else."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(1)
    return pid


def detokenizer() -> None:
    become_child("sglang::detokenizer")
    while True:
        time.sleep(3600)


class Answers(BaseHTTPRequestHandler):
    """The part of the HTTP interface that is asked for."""

    def answer(self, status: int, body: Any = "") -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        if self.path == "/health":
            self.answer(200 if READY.is_set() and not (Path.home() / f"sick-{PORT}").exists() else 503)
        elif self.path == "/model_info":
            self.answer(200, {"model_path": ARGS.get("model_path"), "is_generation": True})
        elif self.path == "/server_info":
            told = {**ARGS, "version": "0.5.23", "api_key": "never shown", **json.loads(wish("SETTINGS", "{}"))}
            self.answer(200, {**told, "internal_states": [told]})
        else:
            self.answer(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/chat/completions":
            message = {"role": "assistant", "content": "Hello from the stand-in"}
            self.answer(200, {"choices": [{"message": message}], "usage": {"completion_tokens": 5}})
        else:
            self.answer(404)

    def log_message(self, *_: object) -> None:
        """The access log is not what is tested."""


class Server(ThreadingHTTPServer):
    """Many connections at once; the address can be taken again at once."""

    daemon_threads = True
    allow_reuse_address = True
    address_family = socket.AF_INET6 if ":" in str(ARGS["host"]) else socket.AF_INET

    def server_bind(self) -> None:
        """Without HTTPServer's question to a name server."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(ARGS["host"]), PORT


def spelled(address: object, port: int) -> str:
    """As uvicorn writes it."""
    return f"[{address}]:{port}" if ":" in str(address) else f"{address}:{port}"


def listen(port: int) -> None:
    server = Server((str(ARGS["host"]), port), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def my_ranks() -> list[Rank]:
    """The pipeline stages of this node; with fewer stages than nodes, a part of each stage."""
    nnodes, node, tp, pp = ARGS["nnodes"], ARGS["node_rank"], ARGS["tp_size"], ARGS["pp_size"]
    everyone = [(p, t) for p in range(pp) for t in range(tp)]
    share = len(everyone) // nnodes
    return [Rank(p, t) for p, t in everyone[node * share : (node + 1) * share]]


def crash(number: int, pid: int, status: int) -> None:
    """Main's last words after a scheduler's death, then the end of all."""
    time.sleep(float(wish("PAUSE", "1")))
    code = -(status & 127) if status & 127 else status >> 8
    if not READY.is_set():
        for line in LINES["crash_loading"]:
            os.write(1, (line.replace("Rank 2", f"Rank {number}").replace("-9)", f"{code})") + "\n").encode())
        end(1)
    for line in LINES["crash_up"]:
        text = line.replace("detokenizer", f"scheduler_{number}").replace("10521", str(pid))
        say(text.replace("exit code 1.", f"exit code {code}.").replace("10363", str(os.getpid())))
    end(-signal.SIGKILL)


CHILDREN: dict[int, int] = {}  # pid -> number of the scheduler, -1 for the detokenizer


def end(status: int) -> None:
    """Kill what is left and go; below zero, by that signal."""
    for pid in CHILDREN:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


def watch_children() -> None:
    """Any child that ends ends the server."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if not ENDING.is_set():
            crash(CHILDREN.pop(pid, 0), pid, status)


def meet(node: int, address: str) -> tuple[socket.socket | None, list[socket.socket]]:
    """The link between nodes: node 0 waits for the others, they call it until it answers."""
    host, _, port = address.rpartition(":")
    if node == 0:
        server = socket.create_server(("", int(port)), family=socket.AF_INET6 if "[" in host else socket.AF_INET)
        return None, [server.accept()[0] for _ in range(ARGS["nnodes"] - 1)]
    while True:
        try:
            return socket.create_connection((host.strip("[]"), int(port))), []
        except OSError:
            time.sleep(0.05)


def follow_node_0(head: socket.socket) -> None:
    """A node above 0: answers a dummy 200, and ends when node 0 has gone."""
    head.sendall(b"!")
    say(LINES["dummy"][0].replace("0.0.0.0:31035", f"{ARGS['host']}:{PORT}"))
    READY.set()
    listen(PORT)
    while head.recv(1):
        pass
    end(0)


def main() -> None:
    for line in LINES["head"]:
        if line.startswith("[20"):
            say(line.partition("] ")[2])
        else:
            os.write(1, (line + "\n").encode())
    hold("start")
    if wish("EXIT"):
        sys.exit(int(wish("EXIT")))
    if wish("DRIP"):
        for byte in (time.strftime("[%Y-%m-%d %H:%M:%S] ") + DRIP + "\n").encode():
            os.write(1, bytes([byte]))
            time.sleep(0.01)
    node = ARGS["node_rank"]
    signal.signal(signal.SIGTERM, signal.SIG_IGN if wish("DEAF") or node else signal.SIG_DFL)
    told, tell = os.pipe()
    ranks = my_ranks()
    for number, rank in enumerate(ranks):
        CHILDREN[fork(lambda rank=rank: rank.live(tell))] = number
    CHILDREN[fork(detokenizer)] = -1
    threading.Thread(target=watch_children, daemon=True).start()
    head, others = meet(node, str(ARGS["dist_init_addr"])) if ARGS["nnodes"] > 1 else (None, [])
    for _ in ranks:
        os.read(told, 1)
    if head:
        follow_node_0(head)
    for other in others:
        other.recv(1)
    if not wish("DEAF"):
        signal.signal(signal.SIGTERM, lambda *_: ENDING.set())  # until now it is simply killed by it
    threading.Thread(target=serve, daemon=True).start()
    ENDING.wait()
    for line in LINES["drain"]:
        say(line)
        time.sleep(0.1)
    end(0)


def serve() -> None:
    """Listen, become ready, say so."""
    hold("bind")
    if not wish("UNBOUND"):
        try:
            listen(PORT)
        except OSError:
            say(LINES["taken"][0].replace("127.0.0.1", str(ARGS["host"])).replace("31016", str(PORT)))
            end(1)
    for line in LINES["bound"]:
        say(line.replace("127.0.0.1:31004", spelled(ARGS["host"], PORT)).replace("26768", str(os.getpid())))
    hold("ready")
    time.sleep(0.1)
    READY.set()
    hold("word")  # it answers, and has not said so yet
    say(LINES["ready"][0])


if __name__ == "__main__":
    main()
