"""Locks of kernel builds on this host, and who holds them.

torch's extensions lock by a file being there: a build that was killed leaves it, and the next waits for ever without a
word (torch/utils/file_baton.py). FlashInfer's and tvm-ffi's lie there always; what counts is the kernel's lock on them.
"""

from __future__ import annotations

import os
import re
import stat
import time

from . import proc, sockets
from .virtual import is_first_pid_namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Set, Tuple

    from .state import Json

    File = Tuple[int, int]  # device, inode

HELD = rb"(?m)^\d+: +\w+ +\w+ +\w+ +(\d+) "  # /proc/locks; those who wait have -> after the number
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "beegfs", "gpfs", "wekafs", "9p", "glusterfs")
MOST = 20  # that are told
YOUNG = 1800.0  # seconds: a build whose processes cannot be seen from here may take as long
ESCAPED = r"\\([0-7]{3})"  # as /proc/mounts writes spaces


def locks(variables: Dict[str, str]) -> List[Json]:
    """Files that stand for a lock, and kernel locks that somebody holds.

    {path, by: "file" or "kernel", holder: who has it open, None for nobody that is seen from here, shared: on several
    hosts' file system, age_s, keep: why it must not be removed, None where nobody can hold it}
    """
    cache = os.path.expanduser(variables.get("XDG_CACHE_HOME") or "~/.cache")
    infer = os.path.expanduser(variables.get("FLASHINFER_WORKSPACE_BASE") or "~") + "/.cache/flashinfer"
    files = _found(variables.get("TORCH_EXTENSIONS_DIR") or cache + "/torch_extensions", "lock")
    held = _found(infer, "*.lock") + _found(variables.get("TVM_FFI_CACHE_DIR") or cache + "/tvm-ffi", "*lock")
    if not files and not held:
        return []
    open_in = _open_in({*files, *held})
    told = [_told(path, "file", open_in.get(path, [])) for path in files]
    holders = {int(pid) for pid in re.findall(HELD, proc.read("/proc/locks") or b"")}
    for path in held:
        by = [pid for pid in open_in.get(path, []) if pid in holders]
        if by:
            told.append(_told(path, "kernel", by))
    return told[:MOST]


def _found(folder: str, name: str) -> List[str]:
    place = os.path.realpath(os.path.expanduser(folder))
    if not os.path.isdir(place):
        return []
    import glob  # 0.4 ms, and mostly there is no such folder

    found = glob.glob(f"{glob.escape(place)}/**/{name}", recursive=True)
    return sorted(path for path in found if os.path.isfile(path))


def _open_in(paths: Set[str]) -> Dict[str, List[int]]:
    """Path -> the processes that have it open, by its inode: a container has it elsewhere. Others' may be hidden."""
    files = {file: path for path in paths for file in [identity(path)] if file}
    names = {os.path.basename(path) for path in paths}
    found: Dict[str, List[int]] = {}
    for pid in proc.pids():
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        near = [n for n in numbers if os.path.basename(proc.link(pid, "fd/" + n)) in names]
        for path in {files.get(identity(f"/proc/{pid}/fd/{n}", follow=True) or (0, 0)) for n in near}:
            if path:
                found.setdefault(path, []).append(pid)
    return found


def identity(path: str, follow: bool = False) -> Optional[File]:
    """What no other file has; None: it is not there, or no regular file."""
    try:
        seen = os.stat(path, follow_symlinks=follow)
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino) if stat.S_ISREG(seen.st_mode) else None


def _told(path: str, by: str, pids: List[int]) -> Json:
    holder, (where, kind) = sockets.describe(pids[0]) if pids else None, _mount(path)
    shared = kind in NETWORK or kind.startswith("fuse")
    told: Json = {"path": path, "by": by, "holder": holder, "shared": shared, "age_s": None}
    try:
        seen = os.lstat(path)
    except OSError:
        return {**told, "keep": "it is not there any more"}
    told["age_s"] = round(time.time() - seen.st_mtime)
    return {**told, "keep": _keep(seen, holder, shared, where)}


def _keep(seen: os.stat_result, holder: Optional[Json], shared: bool, where: str) -> Optional[str]:
    """Why a lock must not be removed: what is not seen from here may hold it, unless it is too old for that."""
    age = time.time() - seen.st_mtime
    if holder is not None:
        return f"pid {holder['pid']} holds it"
    if shared:
        return "another host may hold it"
    if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.getuid():
        return "another user has made it"
    if age < YOUNG:
        return f"it is {max(0, round(age / 60))} min old, and a build that cannot be seen from here may hold it"
    if where != "/" and not is_first_pid_namespace() and seen.st_mtime >= _booted():
        return f"another container may have {where}, and hold it"
    return None


def _booted() -> float:
    """When the machine was started (epoch seconds): nobody has held anything for longer, in whatever container."""
    found = re.search(rb"^btime (\d+)", proc.read("/proc/stat") or b"", re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def _mount(path: str) -> Tuple[str, str]:
    """(where its file system is mounted, of what type)."""
    best, kind = "", ""
    for line in (proc.read("/proc/mounts") or b"").decode("utf-8", "replace").splitlines():
        _, where, what, *_ = line.split(" ")
        where = re.sub(ESCAPED, lambda octal: chr(int(octal.group(1), 8)), where)
        if (path + "/").startswith(where.rstrip("/") + "/") and len(where) >= len(best):
            best, kind = where, what
    return best, kind


def stale(variables: Dict[str, str], path: str) -> Optional[str]:
    """Why a lock may not be removed; None: it may, nobody holds it."""
    found = next((lock for lock in locks(variables) if lock["path"] == path), None)
    return "it is not there any more" if found is None else found["keep"]
