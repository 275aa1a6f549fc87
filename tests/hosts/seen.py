"""A lab host's processes and files as this machine's kernel shows them: no word of allranks' own is taken for it."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from roles.lab.host import LabHost
from roles.lab.process import parent
from tests.hosts.clone import eventually
from tests.hosts.labs import disk

STANDIN = "-m\0sglang.launch_server"


def cmdline(pid: int) -> list[str]:
    """A process's arguments; empty when it is gone or a zombie."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return []
    return raw.rstrip("\0").split("\0") if raw else []


def environment(pid: int) -> dict[str, str]:
    """What a process was started with."""
    raw = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="surrogateescape")
    return dict(entry.split("=", 1) for entry in raw.split("\0") if "=" in entry)


def processes(host: LabHost) -> dict[int, list[str]]:
    """Every process on the host that is no zombie, by this machine's pid."""
    return {pid: argv for pid in host.pids() if (argv := cmdline(pid))}


def titled(host: LabHost, title: str) -> int:
    """The one process that calls itself this; a moment after its fork it has not yet."""

    def found() -> list[int]:
        return [pid for pid, argv in processes(host).items() if argv[0] == title]

    (pid,) = eventually(found)
    return pid


def mains(host: LabHost) -> list[int]:
    """The servers' main processes, without their children that have not renamed themselves yet."""
    found = [pid for pid, argv in processes(host).items() if STANDIN in "\0".join(argv)]
    return [pid for pid in found if parent(pid) not in found]


def servers(host: LabHost) -> list[list[str]]:
    """Everything on the host that belongs to a server: launch scripts, mains, ranks, detokenizers."""
    words = ("sglang::", "launch_server", "launch.sh")
    return [argv for argv in processes(host).values() if any(word in " ".join(argv) for word in words)]


def onhosts(host: LabHost) -> list[list[str]]:
    """The on-host programs that run."""
    return [argv for argv in processes(host).values() if any("onhost-" in word for word in argv)]


def kill(pid: int) -> float:
    """kill -9; the moment at which it was sent."""
    os.kill(pid, signal.SIGKILL)
    return time.time()


def runs(host: LabHost, workdir: str = ".allranks") -> dict[str, dict[str, Any]]:
    """run id -> its state.json."""
    found = (disk(host) / workdir / "runs").glob("*/state.json")
    return {path.parent.name: json.loads(path.read_text()) for path in found}


def run_folder(host: LabHost, run: str, workdir: str = ".allranks") -> Path:
    """Where a run's files lie."""
    return disk(host) / workdir / "runs" / run
