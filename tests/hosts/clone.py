"""A fresh clone of the repository with an inventory of its own, and `inv` run in it as a user would."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

from roles.lab.host import LabHost
from roles.lab.written import entry, names

REPOSITORY = Path(__file__).resolve().parents[2]
INV = Path(sys.executable).with_name("inv")
T = TypeVar("T")

# As inventory/profiles/tiny-tp2pp2.yml is, but for what only the real one needs.
PROFILE: dict[str, Any] = {
    "model": "host:tiny-llama",
    "served_model_name": "tiny",
    "layout": {"tp": 2, "pp": 2},
    "flags": {"device": "cpu", "load_format": "dummy"},
    "timeouts": {"stop": 5},
}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as one JSON value."""
        return json.loads(self.out)

    @property
    def said(self) -> str:
        """Everything that it printed."""
        return self.out + self.err


@dataclass
class Clone:
    """A folder that `inv` works in. `environment` is laid over a user's plain one."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """The home of whoever types the commands; nothing of the real one is seen."""
        return self.root / "home"

    def make(self) -> Clone:
        """Put it there: the code by a link, since it is the code that is tested."""
        for folder in (self.root / "inventory/profiles", self.home):
            folder.mkdir(parents=True)
        shutil.copy(REPOSITORY / "tasks.py", self.root / "tasks.py")
        for linked in ("roles", "templates"):
            (self.root / linked).symlink_to(REPOSITORY / linked)
        return self

    def hosts(self, hosts: Sequence[LabHost] | Mapping[str, Mapping[str, Any]], **changes: Any) -> Clone:
        """Write inventory/hosts.yml; `changes` are laid over each host, None takes a key away."""
        if isinstance(hosts, Mapping):
            found = {name: dict(fields) for name, fields in hosts.items()}
        else:
            found = {name: entry(host.folder, host) for host in hosts for name in names(host)}
        for fields in found.values():
            fields.update(changes)
        told = {name: {k: v for k, v in fields.items() if v is not None} for name, fields in found.items()}
        (self.root / "inventory/hosts.yml").write_text(json.dumps({"hosts": told}, indent=1))
        return self

    def profile(self, name: str, port: int, **fields: Any) -> Clone:
        """Write a profile: PROFILE with these fields laid over it. JSON is YAML."""
        told = {**PROFILE, "port": port, **fields}
        (self.root / f"inventory/profiles/{name}.yml").write_text(json.dumps(told, indent=1))
        return self

    def _environment(self) -> dict[str, str]:
        plain = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "USER": "ada", "LOGNAME": "ada"}
        return plain | self.environment

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command that is left running, in a session of its own so that a signal to it is to it alone."""
        process = subprocess.Popen(
            [str(INV), *arguments],
            cwd=self.root,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def inv(self, *arguments: str, timeout: float = 60.0) -> Done:
        """A command to its end."""
        return finished(self.start(*arguments), timeout)

    def ok(self, *arguments: str, timeout: float = 60.0) -> Done:
        """A command that must succeed."""
        done = self.inv(*arguments, timeout=timeout)
        assert done.code == 0, done.said
        return done

    def close(self) -> None:
        """End what still runs of it."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


class Lines:
    """The lines that a running command prints, as they come; waiting for one ends after a while."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.said: list[str] = []
        self._queue: queue.Queue[str] = queue.Queue()
        assert process.stdout is not None
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._queue.put(line.rstrip("\n"))

    def next(self, within: float = 30.0) -> str:
        """The next line."""
        self.said.append(self._queue.get(timeout=within))
        return self.said[-1]

    def until(self, words: str, within: float = 60.0) -> str:
        """The next line with these words; fails with all that was said when it does not come."""
        end = time.monotonic() + within
        while True:
            try:
                line = self.next(max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {words!r} within {within:.0f} s; said: {self.said[-20:]}") from None
            if words in line:
                return line


def finished(process: subprocess.Popen[str], timeout: float = 60.0) -> Done:
    """Wait for a command's end."""
    out, err = process.communicate(timeout=timeout)
    return Done(process.returncode, out, err)


def eventually(true: Callable[[], T], within: float = 15.0) -> T:
    """The first true answer. Fails when none comes in time."""
    end = time.monotonic() + within
    while not (answer := true()):
        assert time.monotonic() < end, f"not within {within:.0f} s"
        time.sleep(0.02)
    return answer
