"""A TCP port -> who listens on it: /proc/net/tcp gives the socket, /proc/*/fd the process that holds it."""

from __future__ import annotations

import os
import pwd
from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from . import proc

LISTENING = b"0A"
ANY = {b"00000000", b"0" * 32}


class Listener(NamedTuple):
    """A listening socket. `wild`: bound to every address."""

    inode: int
    uid: int
    wild: bool
    loopback: bool


def listeners(port: int) -> List[Listener]:
    """The sockets that listen on this port in this network namespace, IPv4 and IPv6."""
    found, needle = [], b":%04X " % port
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        raw = proc.read(path) or b""
        if needle not in raw:  # a busy host has many thousand lines: look closely only where it can matter
            continue
        for line in raw.splitlines()[1:]:
            f = line.split()
            address, _, number = f[1].partition(b":")
            if f[3] == LISTENING and int(number, 16) == port:
                loopback = address in (b"0100007F", b"00000000000000000000000001000000")
                found.append(Listener(int(f[9]), int(f[7]), address in ANY, loopback))
    # 127.0.0.1 is where the probes go: a socket bound to just that address gets them before one bound to all.
    return sorted(found, key=lambda each: (not each.loopback, not each.wild))


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
