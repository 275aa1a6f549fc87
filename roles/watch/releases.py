"""How lines are spelled -> the releases that spell them so."""

from __future__ import annotations

import re
from collections.abc import Iterable

from roles.watch.line import HEAD
from roles.watch.spellings import SPELLINGS

# The releases whose source the spellings were read in, in order.
RELEASES = (
    *("0.4.9", "0.5.2", "0.5.5", "0.5.7", "0.5.8", "0.5.9", "0.5.10.post1", "0.5.12.post1", "0.5.14", "0.5.16"),
    *("0.5.18", "0.5.20", "0.5.21", "0.5.22", "0.5.23"),
)
_TELLING = tuple(
    (re.compile(HEAD.pattern + row.regex), RELEASES.index(row.since), RELEASES.index(row.until))
    for row in SPELLINGS
    if (row.since, row.until) != (RELEASES[0], RELEASES[-1])
)


def releases_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The releases that fit every telling line; empty when none does: a mixture, or a release that was not read.

    A release between two that were read (0.5.17) is told by its neighbours.
    """
    low, high = 0, len(RELEASES) - 1
    for text in texts:
        for regex, since, until in _TELLING:
            if regex.search(text):
                low, high = max(low, since), min(high, until)
    return RELEASES[low : high + 1]
