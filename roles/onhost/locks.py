"""Locks of kernel builds on this host, and who holds them.

torch's extensions lock by a file being there: a build that was killed leaves it, and the next waits for ever without a
word (torch/utils/file_baton.py). FlashInfer's and tvm-ffi's lie there always; what counts is the kernel's lock on them.
"""

from __future__ import annotations

import glob
import os
import re
from typing import Dict, List, Optional, Set

from . import proc, sockets
from .state import Json

HELD = re.compile(
    rb"^\d+: +\w+ +\w+ +\w+ +(\d+) ", re.MULTILINE
)  # /proc/locks; those who wait have -> after the number
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "beegfs", "gpfs", "wekafs", "9p", "glusterfs")
MOST = 20  # that are told


def locks(variables: Dict[str, str]) -> List[Json]:
    """Files that stand for a lock, and kernel locks that somebody holds.

    {path, by: "file" or "kernel", holder: who has it open, None for nobody here, shared: on several hosts' file system}
    """
    cache = os.path.expanduser(variables.get("XDG_CACHE_HOME") or "~/.cache")
    infer = os.path.expanduser(variables.get("FLASHINFER_WORKSPACE_BASE") or "~") + "/.cache/flashinfer"
    files = _found(variables.get("TORCH_EXTENSIONS_DIR") or cache + "/torch_extensions", "lock")
    held = _found(infer, "*.lock") + _found(variables.get("TVM_FFI_CACHE_DIR") or cache + "/tvm-ffi", "*lock")
    if not files and not held:
        return []
    open_in = _open_in({*files, *held})
    told = [_told(path, "file", open_in.get(path, [])) for path in files]
    holders = {int(pid) for pid in HELD.findall(proc.read("/proc/locks") or b"")}
    for path in held:
        by = [pid for pid in open_in.get(path, []) if pid in holders]
        if by:
            told.append(_told(path, "kernel", by))
    return told[:MOST]


def _found(folder: str, name: str) -> List[str]:
    place = glob.escape(os.path.realpath(os.path.expanduser(folder)))
    return sorted(path for path in glob.glob(f"{place}/**/{name}", recursive=True) if os.path.isfile(path))


def _open_in(paths: Set[str]) -> Dict[str, List[int]]:
    """Path -> the processes that have it open. Those of other users may not be seen, nor do they lock in our cache."""
    found: Dict[str, List[int]] = {}
    for pid in proc.pids():
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for path in {proc.link(pid, "fd/" + name) for name in names} & paths:
            found.setdefault(path, []).append(pid)
    return found


def _told(path: str, by: str, pids: List[int]) -> Json:
    return {"path": path, "by": by, "holder": sockets.describe(pids[0]) if pids else None, "shared": _shared(path)}


def _shared(path: str) -> bool:
    """Whether another host may see the same file, and hold it."""
    best, kind = "", ""
    for line in (proc.read("/proc/mounts") or b"").decode("utf-8", "replace").splitlines():
        _, where, what, *_ = line.split(" ")
        if (path + "/").startswith(where.rstrip("/") + "/") and len(where) >= len(best):
            best, kind = where, what
    return kind in NETWORK or kind.startswith("fuse")


def stale(variables: Dict[str, str], path: str) -> Optional[str]:
    """Why a lock may not be removed; None: it may, nobody holds it."""
    found = next((lock for lock in locks(variables) if lock["path"] == path), None)
    if found is None:
        return "it is not there any more"
    if found["holder"] is not None:
        return f"pid {found['holder']['pid']} holds it"
    return "another host may hold it" if found["shared"] else None
