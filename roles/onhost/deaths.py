"""Processes -> a wait that the end of any of them cuts short: the kernel tells it (pidfd), nothing is asked again."""

from __future__ import annotations

import contextlib
import os
import select
import time

from .session import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional, Sequence

    from .session import Key

_open = getattr(os, "pidfd_open", None)  # Python 3.9 and Linux 5.3, else there is only the clock


class Deaths:
    """Holds a file descriptor for each process that lives, until it ends or is watched no more."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._fds: Dict[Key, Optional[int]] = {}  # None: it has ended, and that was told

    def watch(self, processes: Sequence[Process]) -> None:
        """These from now on, and no others."""
        for key in set(self._fds) - {p.key for p in processes}:
            self._close(self._fds.pop(key))
        for p in processes:
            if _open and p.key not in self._fds:
                with contextlib.suppress(OSError):  # it is gone, or there are too many open files
                    self._fds[p.key] = fd = _open(p.stat.pid)
                    self._poll.register(fd, select.POLLIN)

    def wait(self, seconds: float) -> None:
        """Until one ends, at most so long."""
        if not self._fds:
            time.sleep(seconds)
            return
        ended = {fd for fd, _ in self._poll.poll(seconds * 1000)}
        for key in [key for key, fd in self._fds.items() if fd in ended]:
            self._close(self._fds[key])
            self._fds[key] = None  # a zombie's stays readable: told once is enough

    def _close(self, fd: Optional[int]) -> None:
        if fd is not None:
            self._poll.unregister(fd)
            os.close(fd)
