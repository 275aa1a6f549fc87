"""Signals to exactly the process that is meant, never to another that has got its number since."""

from __future__ import annotations

import contextlib
import os
import signal

from . import proc
from .session import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional


def send_signal(process: Process, number: int) -> bool:
    """Signal this process. False: it is gone.

    Raises: PermissionError when it is another user's.
    """
    pid = process.stat.pid
    handle = None
    try:
        if hasattr(os, "pidfd_open"):  # Python 3.9 and Linux 5.3: no gap between looking and killing
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
        now = proc.stat(pid)
        if now is None or now.dead or (now.start, now.session) != (process.stat.start, process.stat.session):
            return False
        if handle is not None:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        if handle is not None:
            os.close(handle)


def lives(process: Optional[Process]) -> bool:
    """Is it still there, and no zombie?"""
    now = proc.stat(process.stat.pid) if process else None
    return bool(process and now and not now.dead and now.start == process.stat.start)


def shell_signal(code: Optional[int]) -> Dict[str, str]:
    """A shell writes 128 + N for a command that signal N ended: its name, for a frame."""
    with contextlib.suppress(ValueError):
        if code is not None and code > 128:
            return {"signal": signal.Signals(code - 128).name}
    return {}
