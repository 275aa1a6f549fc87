"""Where leases lie: a folder that all users of this host share, like /tmp (sticky), on a tmpfs where there is one.

It is gone when nobody has or remembers a lease.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time

from .problems import HostError
from .state import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

PLACES = ("/dev/shm", "/run/lock", "/tmp")
NAME = "allranks-leases"
SHARED = 0o1777
PATIENCE = 5.0  # seconds for the folder's lock, which is held for milliseconds


def folder(home: Home, make: bool) -> Optional[str]:
    """The shared folder; the work folder where no place can be shared. None: it is not there and not to be made."""
    chosen = os.environ.get("ALLRANKS_LEASES")
    for place in (chosen,) if chosen else PLACES:
        path = os.path.join(place, NAME)
        if make and os.path.isdir(place) and not os.path.lexists(path):
            old = os.umask(0)  # in one step: a folder that is not like /tmp is nobody's choice
            try:
                with contextlib.suppress(OSError):
                    os.mkdir(path, SHARED)
            finally:
                os.umask(old)
        if _shared(path):
            return path
    if make:
        home.make()
    return home.path if os.path.isdir(home.path) else None


def _shared(path: str) -> bool:
    try:
        seen = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(seen.st_mode) and seen.st_mode & SHARED == SHARED


def locked(home: Home) -> Tuple[str, int]:
    """The folder and its lock, which is the folder itself: nothing has to be created for it."""
    end = time.monotonic() + PATIENCE
    while True:
        path = folder(home, make=True)
        assert path is not None
        with contextlib.suppress(OSError):  # somebody has removed it this moment
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if _alone(lock, path):
                return path, lock
            os.close(lock)
        if time.monotonic() > end:
            raise HostError("refused", f"somebody has kept {path} locked for {PATIENCE:.0f} s", "see who: fuser there")
        time.sleep(0.01)


def _alone(lock: int, path: str) -> bool:
    """Whether the lock is ours now, and that of the folder which still has this name."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(lock).st_ino == os.lstat(path).st_ino
    except OSError:
        return False
