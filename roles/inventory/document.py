"""What a file says: plain values, and for each key path the line it stands on and the text that was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from roles.inventory.errors import InputError

KeyPath: TypeAlias = tuple[str | int, ...]


@dataclass
class Document:
    """What a file says. `places` are `file:line`; `texts` are the scalars written without quotes, as written."""

    name: str
    value: dict[str, object] = field(default_factory=dict)
    places: dict[KeyPath, str] = field(default_factory=dict)
    texts: dict[KeyPath, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def problem(self, path: KeyPath, text: str) -> None:
        """Note one problem, with the place and the key path in front."""
        self.problems.append(f"{self.place(path)}: {dotted(path)}: {text}" if path else f"{self.place(path)}: {text}")

    def place(self, path: KeyPath) -> str:
        """Where a key stands, or the nearest key above it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, self.name)

    def settle(self) -> None:
        """Raise all problems at once, one a line."""
        if self.problems:
            raise InputError("\n".join(self.problems))


def dotted(path: KeyPath) -> str:
    """`layout.tp`, `extra_args[2]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
