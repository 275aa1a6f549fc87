"""A rank: one scheduler process, known by its place on each parallel axis. Text -> Rank -> label.

SGLang leaves an axis of size one out of its log prefix and of its process titles, and so does a label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from roles.inventory.errors import InputError

_PART = re.compile(r"(DP|PP|TP)([0-9]{1,5})", re.IGNORECASE)
_WHOLE = re.compile(rf"(?:{_PART.pattern}[ _]?)+", re.IGNORECASE)


class Axes(Protocol):
    """The sizes a label depends on; a profile's layout has them."""

    @property
    def tp(self) -> int: ...
    @property
    def pp(self) -> int: ...
    @property
    def dp(self) -> int: ...


@dataclass(frozen=True, order=True)
class Rank:
    """Place on the pipeline, tensor and data parallel axis; each counts from 0 over all nodes."""

    pp: int = 0
    tp: int = 0
    dp: int = 0

    def label(self, layout: Axes) -> str:
        """`PP0 TP3`: the axes that the layout has more than one of, DP first; `TP0` when there is one rank."""
        sizes = (("DP", self.dp, layout.dp), ("PP", self.pp, layout.pp), ("TP", self.tp, layout.tp))
        return " ".join(f"{axis}{place}" for axis, place, size in sizes if size > 1) or "TP0"

    @classmethod
    def parse(cls, text: str) -> Rank:
        """Read `PP0 TP1`, `PP0TP1`, `pp0_tp1`; an axis that is not named is 0."""
        parts = [(axis.lower(), int(place)) for axis, place in _PART.findall(text)]
        named = dict(parts)
        if not _WHOLE.fullmatch(text.strip()) or len(named) != len(parts):
            raise InputError(f"{text!r} is not a rank", do="write for example PP0TP1, TP3 or DP1TP0")
        return cls(**named)
