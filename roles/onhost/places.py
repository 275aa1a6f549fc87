"""Folders, memory and limits: how much room there is, as this login sees it."""

from __future__ import annotations

import os
import resource

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional

    from .state import Json

LIMITS = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC, "memlock": resource.RLIMIT_MEMLOCK,
          "as": resource.RLIMIT_AS, "fsize": resource.RLIMIT_FSIZE}  # fmt: skip


def places(folders: List[str]) -> Json:
    """Room in each folder and in memory."""
    return {
        "folders": {name: folder(os.path.expanduser(name)) for name in folders},
        "limits": {name: _limit(number) for name, number in LIMITS.items()},
        "memory": memory(),
    }


def folder(path: str) -> Json:
    """The nearest folder that exists: free MiB and inodes for an ordinary user, and whether this login may write."""
    there = path
    while not os.path.isdir(there) and there != "/":
        there = os.path.dirname(there)
    try:
        seen = os.statvfs(there)
    except OSError as error:
        return {"path": path, "error": error.strerror}
    return {
        "path": path,
        "exists": there == path,
        "free_mib": seen.f_bavail * seen.f_frsize >> 20,
        "total_mib": seen.f_blocks * seen.f_frsize >> 20,
        # some file systems (btrfs) have no fixed number of inodes and say 0
        "free_inodes": seen.f_favail if seen.f_files else None,
        "writable": os.access(there, os.W_OK | os.X_OK) and not seen.f_flag & os.ST_RDONLY,
    }


def _limit(number: int) -> Json:
    soft, hard = resource.getrlimit(number)
    limits = {"soft": soft, "hard": hard}
    told: Json = {name: None if value == resource.RLIM_INFINITY else value for name, value in limits.items()}
    return dict(told, raisable=hard == resource.RLIM_INFINITY or _raisable(number, soft, hard))


def _raisable(number: int, soft: int, hard: int) -> bool:
    """May this login raise its own hard limit? Tried on this process alone, and put back."""
    try:
        resource.setrlimit(number, (soft, hard + 1))
    except (OSError, ValueError):
        return False
    resource.setrlimit(number, (soft, hard))
    return True


def memory() -> Json:
    """MiB: the machine's, and what the control group leaves of it (a container's limit)."""
    return {
        "total_mib": proc.memory(b"MemTotal:"),
        "available_mib": proc.memory(b"MemAvailable:"),
        "group_left_mib": _group_left(),
        "pids_left": _pids_left(),
    }


def _group() -> List[str]:
    """The folders of this process's control group and those above it, cgroup v2."""
    text = (proc.read("/proc/self/cgroup") or b"").decode("utf-8", "replace")
    place = next((line[3:] for line in text.splitlines() if line.startswith("0::")), None)
    if place is None:
        return []
    parts = [part for part in place.split("/") if part and part != ".."]
    return ["/".join(["/sys/fs/cgroup", *parts[:end]]) for end in range(len(parts), -1, -1)]


def _number(path: str) -> Optional[int]:
    text = (proc.read(path) or b"").strip()
    return int(text) if text.isdigit() else None


def _least(limit: str, now: str) -> Optional[int]:
    left: List[Any] = []
    for where in _group():
        most, used = _number(f"{where}/{limit}"), _number(f"{where}/{now}")
        if most is not None and used is not None:
            left.append(max(0, most - used))
    return min(left) if left else None


def _group_left() -> Optional[int]:
    left = _least("memory.max", "memory.current")
    return None if left is None else left >> 20


def _pids_left() -> Optional[int]:
    return _least("pids.max", "pids.current")
