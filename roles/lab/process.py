"""A process known by its pid, start time and boot, so that a reused pid is never taken for it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """`start` is in clock ticks since boot (field 22 of /proc/PID/stat, proc(5))."""

    pid: int
    start: int
    boot: str

    @staticmethod
    def of(pid: int) -> Process:
        """The process that has `pid` now; start 0 (never alive) when there is none."""
        fields = _stat(pid)
        return Process(pid, int(fields[19]) if fields else 0, boot_id())

    @property
    def alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        if self.boot != boot_id():
            return False
        fields = _stat(self.pid)
        return bool(fields) and int(fields[19]) == self.start and fields[0] not in "ZX"

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Signal it if it is still the same process; without complaint when it is gone."""
        if self.alive:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def end(self, seconds: float = 5) -> bool:
        """Kill it and wait until it is gone."""
        self.kill()
        return wait_until(lambda: not self.alive, seconds)


def _stat(pid: int) -> list[str]:
    """Fields 3 and later of /proc/PID/stat: the name before them may hold spaces and parentheses."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def parent(pid: int) -> int:
    """The pid of its parent; 0 when it is gone."""
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def boot_id() -> str:
    """Changes with every start of this machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def all_pids() -> Iterator[int]:
    """Every process that can be seen here."""
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def in_namespace_of(pid: int) -> list[int]:
    """Every process in the same pid namespace as `pid`."""
    wanted = _namespace(pid)
    return [other for other in all_pids() if wanted and _namespace(other) == wanted]


def _namespace(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def with_environment(entry: str) -> list[int]:
    """Every process whose environment, as it was when it started, holds exactly `entry`."""
    wanted = entry.encode()
    return [pid for pid in all_pids() if wanted in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def wait_until(condition: Callable[[], bool], seconds: float, every: float = 0.01) -> bool:
    """Look every `every` seconds until `condition` holds; False when it did not in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(every)
    return True
