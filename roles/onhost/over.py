"""<workdir> -> the runs that were not stopped. A host may have seen a thousand: what is over is read once."""

from __future__ import annotations

import contextlib
import os

from . import proc
from .state import Home, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List


def standing(home: Home) -> List[Run]:
    """Oldest first; one whose file is damaged has an empty state.

    `<workdir>/over` holds the ids of runs that were read once and found stopped, which is for good. Without it all are
    read again.
    """
    path = os.path.join(home.path, "over")
    runs = home.runs(besides=set((proc.read(path) or b"").decode("ascii", "replace").split()))
    stopped = [run.id for run in runs if run.state.get("stopped")]
    if stopped:
        with contextlib.suppress(OSError):  # a full disk: read again the next time
            _append(path, "".join(f"{run}\n" for run in stopped).encode())
    return [run for run in runs if not run.state.get("stopped")]


def _append(path: str, content: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, content)
    finally:
        os.close(fd)
