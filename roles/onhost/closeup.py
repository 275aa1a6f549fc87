"""Processes, looked at twice -> what each of them is doing: state, where it waits, what it used and read meanwhile."""

from __future__ import annotations

import os
import re
import time

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional

    from .state import Json

COMPILER = re.compile(r"(?:\S*/)?(nvcc|cicc|ptxas|ninja|cc1plus|cudafe\+\+|g\+\+|clang\+*)\b")
FRAMES = 12  # of a kernel stack
BOOTED = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)  # epoch seconds


class Sample:
    """One look at one process."""

    __slots__ = ("at", "io", "stat")

    def __init__(self, at: float, stat: proc.Stat, io: Dict[str, int]) -> None:
        self.at, self.stat, self.io = at, stat, io


def samples(pids: List[int]) -> Dict[int, Sample]:
    """All of them, now."""
    found = {pid: (time.monotonic(), proc.stat(pid), proc.io(pid)) for pid in pids}
    return {pid: Sample(at, stat, read) for pid, (at, stat, read) in found.items() if stat}


def row(now: Sample, before: Optional[Sample], title: str) -> Json:
    """A process in a frame's fields; rates are per second between the two looks, null when they are not known."""
    pid, stat = now.stat.pid, now.stat
    seconds = now.at - before.at if before and before.stat.start == stat.start else 0.0
    told: Json = {"pid": pid, "ppid": stat.ppid, "title": title, "state": stat.state, "rss_mib": stat.rss_mib,
                  "cpu_s": stat.cpu_s, "age_s": round(time.time() - BOOTED - stat.start / proc.TICKS, 1)}  # fmt: skip
    told.update(wchan=wchan(pid), stack=stack(pid), threads=_status(pid, "Threads"), tracer=_status(pid, "TracerPid"))
    told.update(sockets=_sockets(pid), compiler=compiler(title))
    for key, name in (("rchar", "read_all"), ("read_bytes", "read"), ("write_bytes", "written")):
        there = now.io.get(key)
        told[f"{name}_bytes"] = there
        known = seconds > 0 and before is not None and there is not None and key in before.io
        told[f"{name}_rate"] = round((there - before.io[key]) / seconds) if known else None  # type: ignore[operator, union-attr]
    told["cpu"] = round((stat.ticks - before.stat.ticks) / proc.TICKS / seconds, 2) if before and seconds > 0 else None
    return told


def compiler(title: str) -> Optional[str]:
    """The compiler's name, if that is what it is."""
    found = COMPILER.match(title)
    return found.group(1) if found else None


def wchan(pid: int) -> Optional[str]:
    """The kernel function that it sleeps in; None when it runs, or that is hidden."""
    name = (proc.read(f"/proc/{pid}/wchan") or b"").decode("ascii", "replace").strip("\0\n ")
    return name if name and name != "0" else None


def stack(pid: int) -> Optional[List[str]]:
    """Its kernel stack, innermost first, where that may be read (root)."""
    raw = proc.read(f"/proc/{pid}/stack")
    if raw is None:
        return None
    frames = re.findall(r"\] ([\w.]+)", raw.decode("ascii", "replace"))
    return frames[:FRAMES]


def _status(pid: int, key: str) -> Optional[int]:
    found = re.search(rb"^%s:\s*(\d+)" % key.encode(), proc.read(f"/proc/{pid}/status") or b"", re.MULTILINE)
    return int(found.group(1)) if found else None


def _sockets(pid: int) -> Optional[int]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return None
    return sum(proc.link(pid, "fd/" + name).startswith("socket:") for name in names)
