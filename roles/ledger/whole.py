"""A text -> a file, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(target: Path, text: str) -> None:
    """Put it in place of what was there; the folder must be there."""
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(target)
