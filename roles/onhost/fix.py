"""fix: make folders that are missing, remove locks that nobody holds. Each is looked at again before it is done."""

from __future__ import annotations

import os

from .frames import Frames
from .locks import identity, stale
from .request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Optional


def fix(request: Request, frames: Frames) -> None:
    """A frame `fixed` for each of `folders` and `locks`: whether it was done, else why not."""
    planned = {str(name): str(value) for name, value in (request.maybe("environment", dict) or {}).items()}
    variables = {**os.environ, **planned}
    for path in request.many("folders", str):
        _try(frames, "folder", path, lambda path: _make(os.path.expanduser(path)))
    for path in request.many("locks", str):
        _try(frames, "lock", path, lambda path: _remove(variables, path))


def _try(frames: Frames, what: str, path: str, do: Callable[[str], Optional[str]]) -> None:
    try:
        why = do(path)
    except OSError as error:
        why = error.strerror or str(error)
    frames.send("fixed", what=what, path=path, done=why is None, why=why)


def _make(path: str) -> Optional[str]:
    if os.path.isdir(path):
        return "it is there already"
    os.makedirs(path, mode=0o755)
    return None


def _remove(variables: Dict[str, str], path: str) -> Optional[str]:
    before = identity(path)
    why = stale(variables, path)
    if why is None and identity(path) != before:
        why = "it is another file by now"
    if why is None:
        os.unlink(path)
    return why
