"""A wrong word -> the nearest right one, and what there is to choose from."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean tp?`, or nothing when no known word is near."""
    near = get_close_matches(word.lower(), {name.lower(): name for name in known}, n=1, cutoff=0.6)
    exact = {name.lower(): name for name in known}
    return f"; did you mean {exact[near[0]]}?" if near else ""


def listed(known: Iterable[str]) -> str:
    """`a, b, c`, or `none`."""
    return ", ".join(known) or "none"
