"""A process -> the memory of its control group: its limit, what is used, how often the kernel killed in it."""

from __future__ import annotations

import os

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

    from .state import Json

ROOT = "/sys/fs/cgroup"
NO_LIMIT = 1 << 60  # bytes: version 1 writes a number beyond all memory where there is none


def folders(pid: int) -> List[Tuple[int, str]]:
    """(version, folder) of the process's group and of the groups around it, the innermost first.

    In a container the path may be one of the machine outside: then only the root of what is mounted can be read.
    """
    found = []
    for line in (proc.read(f"/proc/{pid}/cgroup") or b"").decode("utf-8", "replace").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            found += [(1, folder) for folder in _upwards(ROOT + "/memory", path)]
        elif number == "0" and not controllers:
            for root in (ROOT, ROOT + "/unified"):
                found += [(2, folder) for folder in _upwards(root, path)]
    return found


def _upwards(root: str, path: str) -> List[str]:
    parts = [part for part in path.split("/") if part and part != ".."]
    steps = [os.path.join(root, *parts[:count]) for count in range(len(parts), -1, -1)]
    return [step for step in steps if os.path.isdir(step)]


def memory(pid: int) -> Optional[Json]:
    """{version, folder, oom_kill, pressed, limit_mib, used_mib, frozen}; None where no group can be read.

    `oom_kill`: processes that the kernel killed in it for lack of memory, since it was made. `pressed`: how often its
    limit was hit. The innermost group that counts is told, with the lowest limit of it and those around it.
    """
    return of(folders(pid))


def of(around: List[Tuple[int, str]]) -> Optional[Json]:
    """The same for groups that are known."""
    told: Optional[Json] = None
    for version, folder in around:
        counted = events(version, folder)
        if counted is None:
            continue
        limit = _bytes(folder, "memory.max" if version == 2 else "memory.limit_in_bytes")
        used = _bytes(folder, "memory.current" if version == 2 else "memory.usage_in_bytes")
        if told is None:
            told = {"version": version, "folder": folder, "oom_kill": counted.get("oom_kill"),
                    "pressed": counted.get("pressed"), "limit_mib": None, "used_mib": _mib(used),
                    "frozen": _frozen(folder)}  # fmt: skip
        if limit is not None and (told["limit_mib"] is None or _mib(limit) < told["limit_mib"]):
            told["limit_mib"] = _mib(limit)
    return told


def events(version: int, folder: str) -> Optional[Dict[str, int]]:
    """The counters of one group: {oom_kill, pressed}; None when it has none."""
    raw = proc.read(os.path.join(folder, "memory.events" if version == 2 else "memory.oom_control"))
    if raw is None:
        return None
    pairs = [line.split() for line in raw.decode("ascii", "replace").splitlines()]
    counts = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
    pressed = counts.get("max") if version == 2 else _bytes(folder, "memory.failcnt")
    told = {"oom_kill": counts.get("oom_kill"), "pressed": pressed}
    return {name: count for name, count in told.items() if count is not None}


def mark(pid: int) -> Optional[Json]:
    """What to write down at a start, so that a kill later can be told from older ones: {version, folder, oom_kill}."""
    found = memory(pid)
    return found and {key: found[key] for key in ("version", "folder", "oom_kill")}


def since(marked: Optional[Json]) -> Optional[int]:
    """How many processes the kernel has killed in that group since it was marked; None when that cannot be told."""
    if not marked or marked.get("oom_kill") is None:
        return None
    now = (events(marked["version"], marked["folder"]) or {}).get("oom_kill")
    return None if now is None else now - int(marked["oom_kill"])


def _frozen(folder: str) -> Optional[bool]:
    raw = proc.read(os.path.join(folder, "cgroup.events"))
    return None if raw is None else b"frozen 1" in raw


def _bytes(folder: str, name: str) -> Optional[int]:
    raw = (proc.read(os.path.join(folder, name)) or b"").strip()
    return int(raw) if raw.isdigit() and int(raw) < NO_LIMIT else None


def _mib(count: Optional[int]) -> Optional[int]:
    return None if count is None else count >> 20
