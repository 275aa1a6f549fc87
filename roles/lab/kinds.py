"""Which kind of lab works on this machine for this user, and why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from roles.inventory.errors import AllranksError, InputError, Refused
from roles.lab import userns
from roles.lab.commands import need
from roles.lab.folder import PROGRAMS
from roles.lab.record import KINDS

PROBE = (
    "from inside import syscalls as s; s.unshare({flags}); s.mount('', '/', '', s.RECURSIVE | s.PRIVATE);"
    "s.mount('probe', '/tmp', 'tmpfs')"
)


def decide(asked: str) -> tuple[str, str]:
    """(kind, why). A kind asked for by name is refused when it cannot work; auto takes the first that can."""
    if sys.platform != "linux":
        raise InputError(f"the lab needs Linux, this is {sys.platform}")
    if asked != "auto":
        return _asked(asked)
    if os.getuid() == 0:
        trouble = "" if _may_make_links() else "CAP_NET_ADMIN is missing"
        trouble = trouble or _trouble("NEW_MOUNT | s.NEW_UTS | s.NEW_IPC | s.NEW_PID | s.NEW_NET")
        if not trouble:
            return "namespace", "you are root and namespaces work"
        return "loopback", f"namespaces do not work here, even for root: {trouble}"
    trouble = _userns_trouble()
    if not trouble:
        return "user-namespace", "you are not root, and user namespaces work"
    return "loopback", f"you are not root, and user namespaces do not work: {trouble}"


def _asked(kind: str) -> tuple[str, str]:
    if kind not in KINDS:
        raise InputError(f"no lab of kind {kind!r}", do=f"one of: auto, {', '.join(KINDS)}")
    root = os.getuid() == 0
    if kind in ("namespace", "lxc") and not root:
        raise Refused(f"a lab of kind {kind} needs root", do="leave the kind out, or use sudo")
    if kind == "user-namespace" and root:
        raise Refused("a lab of kind user-namespace is for ordinary users, you are root", do="--kind namespace")
    trouble = _userns_trouble() if kind == "user-namespace" else ""
    if trouble:
        raise Refused(f"user namespaces do not work here: {trouble}", do="--kind loopback needs nothing")
    return kind, "asked for"


def _may_make_links() -> bool:
    """Whether root has CAP_NET_ADMIN (12, <linux/capability.h>): in a container it often has not."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (effective,) = [line.split()[1] for line in lines if line.startswith("CapEff:")]
    return bool(int(effective, 16) >> 12 & 1)


def _trouble(flags: str) -> str:
    """Empty when a process may have namespaces of its own and mount in them."""
    argv = [sys.executable, "-S", "-E", "-c", PROBE.format(flags=f"s.{flags}")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=PROGRAMS)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]


def _userns_trouble() -> str:
    try:
        for program in ("nsenter", "newuidmap", "newgidmap", "ip"):
            need(program)
        userns.granted()
    except AllranksError as error:
        return str(error)
    return _trouble("NEW_USER | s.NEW_MOUNT | s.NEW_NET")
