"""Linux calls that Python 3.10 does not offer: namespaces, mounts, pivot_root.

Flags are those of <sched.h> and <sys/mount.h>.
"""

from __future__ import annotations

import ctypes
import os

NEW_MOUNT, NEW_UTS, NEW_IPC, NEW_USER, NEW_PID, NEW_NET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE, RELATIME = 1, 32, 4096, 16384, 1 << 18, 1 << 21
DETACH = 2

# statvfs flag -> mount flag: a read-only remount inside a user namespace must repeat the flags that are locked.
KEPT = {os.ST_NOSUID: 2, os.ST_NODEV: 4, os.ST_NOEXEC: 8, os.ST_NOATIME: 1024, os.ST_RELATIME: RELATIME}

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _checked(_libc.unshare(flags), f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _checked(result, f"mount {kind or 'bind'} {source} on {target}")


def bind(source: str, target: str, *, read_only: bool = False) -> None:
    """Show `source` with everything mounted beneath it at `target`."""
    mount(source, target, "", BIND | RECURSIVE)
    if read_only:
        present = os.statvfs(target).f_flag
        kept = sum(flag for bit, flag in KEPT.items() if present & bit)
        mount("", target, "", REMOUNT | BIND | READ_ONLY | kept)


def pivot(new_root: str, old_root: str) -> None:
    """Make `new_root` the root; the old one is left at `old_root`, beneath it."""
    _checked(_libc.pivot_root(new_root.encode(), old_root.encode()), f"pivot_root {new_root}")
    os.chdir("/")


def detach(target: str) -> None:
    """Unmount `target` and all beneath it as soon as nobody uses it."""
    _checked(_libc.umount2(target.encode(), DETACH), f"umount {target}")
