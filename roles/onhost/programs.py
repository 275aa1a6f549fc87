"""A program's name -> where it lies. `shutil` finds it too, and loads three compressors before it does (2 ms)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def which(name: str, path: Optional[str] = None) -> Optional[str]:
    """The first file of this name on `path` (default: PATH) that this login may execute."""
    for folder in (path or os.environ.get("PATH") or os.defpath).split(os.pathsep):
        found = os.path.join(folder, name)
        if folder and os.access(found, os.X_OK) and not os.path.isdir(found):
            return found
    return None
