"""The packed on-host program, run as on a host: one Python, one work folder, real processes."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from roles.onhost.proc import scan
from tests.reading import Reading

Frame = dict[str, Any]
STANDIN = Path(__file__).with_name("standin.py")
PADDING = "padding-" * 8  # room for a title in the stand-in's arguments
SCRIPT = """#!/usr/bin/env bash
run_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -f "$run_dir/secrets.env" ]; then set -a; . "$run_dir/secrets.env"; set +a; fi
%s
code=$?
echo "$code" > "$run_dir/exit.new"
mv "$run_dir/exit.new" "$run_dir/exit"
exit "$code"
"""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(true: Callable[[], Any], within: float = 10.0) -> Any:
    """The first true answer. Fails when none comes in time."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        answer = true()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError(f"not within {within} s")


def session_of(started: Frame) -> list[int]:
    """The living processes of a run, counted without the program's own help."""
    return [s.pid for s in scan() if s.session == started["session"] and not s.dead]


class OnHost:
    """A host's program. Ends what it started through the program's own stop, which knows processes by identity."""

    def __init__(self, python: str, program: Path, workdir: Path, uid: int | None = None) -> None:
        self.python, self.program, self.workdir, self.uid = python, program, workdir, uid
        self.environment = {**os.environ, "ALLRANKS_LEASES": str(workdir.parent)}  # else this machine's own
        self.following: list[Following] = []

    def popen(self, verb: str, /, **fields: Any) -> subprocess.Popen[bytes]:
        """The program with its request sent and its stdin still open."""
        process = subprocess.Popen(
            [self.python, str(self.program), verb],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            user=self.uid,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps({"workdir": str(self.workdir), **fields}).encode() + b"\n")
        process.stdin.flush()
        return process

    def frames(self, verb: str, **fields: Any) -> list[Frame]:
        """All frames of a verb; the last is `end` or `error` and agrees with the exit status."""
        process = self.popen(verb, **fields)
        out, _ = process.communicate(timeout=60)
        frames: list[Frame] = [json.loads(line) for line in out.splitlines()]
        assert frames[0]["f"] == "hello" and all("t" in frame for frame in frames)
        assert (frames[-1]["f"], process.returncode) in (("end", 0), ("error", 1)), frames[-1]
        return frames

    def one(self, verb: str, kind: str, **fields: Any) -> Frame:
        """The one frame of this kind that the verb answers with."""
        found = [frame for frame in self.frames(verb, **fields) if frame["f"] == kind]
        assert len(found) == 1, found
        return found[0]

    def error(self, verb: str, **fields: Any) -> Frame:
        """The verb's error frame."""
        return self.one(verb, "error", **fields)

    def run(self, run: str = "r1") -> Frame:
        """A run's summary from `status`."""
        return self.one("status", "run", run=run)

    def start(self, command: str, run: str = "r1", **fields: Any) -> Frame:
        """Start a run of this shell command."""
        return self.one("start", "started", **self.request(command, run, **fields))

    @staticmethod
    def request(command: str, run: str = "r1", **fields: Any) -> Frame:
        """A start request."""
        return {"run": run, "deployment": "tiny@here", "who": "ada@desk", "script": SCRIPT % command, **fields}

    def start_server(
        self, ranks: Sequence[str] = ("TP0", "TP1"), options: str = "", run: str = "r1", **fields: Any
    ) -> Frame:
        """Start the stand-in server with these ranks and wait until all their titles are there."""
        titles = [f"sglang::scheduler_{label.replace(' ', '_')}" for label in ranks]
        port = f"--port {fields['port']}" if "port" in fields else ""
        command = f"{shlex.quote(sys.executable)} {STANDIN} --titles {','.join([*titles, 'sglang::detokenizer'])} "
        fields["ranks"] = [{"label": label, "title": title} for label, title in zip(ranks, titles, strict=True)]
        started = self.start(f"{command} {port} {options} {PADDING}", run, **fields)
        eventually(lambda: all(seat["alive"] for seat in self.run(run)["ranks"]))
        return started

    def follow(self, run: str = "r1", **fields: Any) -> Following:
        """Follow a run."""
        self.following.append(Following(self.popen("follow", run=run, **fields)))
        return self.following[-1]

    def clean(self) -> None:
        """End what was started."""
        for following in self.following:
            following.close()
        self.environment.pop("HOME", None)
        for state in self.workdir.glob("runs/*/state.json"):
            process = self.popen("stop", run=state.parent.name, sig="kill", grace=0, wait=10)
            process.communicate(timeout=60)


class Following(Reading):
    """A running `follow`."""

    def kind(self, kind: str, within: float = 10.0) -> Frame:
        """The next frame of this kind."""
        return self.until(lambda frame: frame["f"] == kind, within)

    def log(self) -> str:
        """The log text seen so far."""
        return "".join(frame["text"] for frame in self.seen if frame["f"] == "log")

    def tell(self, **command: Any) -> None:
        """Send a command."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> int:
        """Close stdin, as a lost connection does; gives the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(10)
