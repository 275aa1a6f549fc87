"""A TCP port -> the process that listens on it, in words."""

from __future__ import annotations

import os
import pwd

from . import proc
from .listening import listeners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Optional


def owner(inode: int, first: Iterable[int] = ()) -> Optional[int]:
    """The process that holds this socket; those in `first` are looked at first. None: not there, or not ours to see."""
    wanted, early = f"socket:[{inode}]", list(first)
    for pid in early + [pid for pid in proc.pids() if pid not in early]:
        folder = f"/proc/{pid}/fd"
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        if any(proc.link(pid, "fd/" + name) == wanted for name in names):
            return pid
    return None


def user_name(uid: int) -> str:
    """A user's name, or the number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def describe(pid: Optional[int], uid: Optional[int] = None) -> Dict[str, Any]:
    """A process in words, for those who must decide what to do about it."""
    seen = proc.stat(pid) if pid else None
    if not pid or not seen:
        return {"pid": None, "ppid": None, "cmdline": None, "uid": uid, "session": None,
                "user": None if uid is None else user_name(uid)}  # fmt: skip
    uid = proc.uid(pid) if uid is None else uid
    return {"pid": pid, "ppid": seen.ppid, "cmdline": proc.title(pid) or f"[{seen.comm}]", "uid": uid,
            "session": seen.session, "user": None if uid is None else user_name(uid)}  # fmt: skip


def holder(port: int, first: Iterable[int] = ()) -> Optional[Dict[str, Any]]:
    """Who listens on the port, or None. `pid` is None when another user's process may not be seen."""
    for each in listeners(port):
        return describe(owner(each.inode, first), each.uid)
    return None
