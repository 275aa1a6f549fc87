"""Several logs -> one, in order of time."""

from __future__ import annotations

import calendar
import heapq
import re
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise

from roles.watch.line import HEAD

HEADS = re.compile(r"^" + HEAD.pattern, re.MULTILINE)


def oldest_first(text: str) -> str:
    """The text with its lines turned round when it was pasted newest first, as some log viewers show it."""
    stamps = [head[1] for head in HEADS.finditer(text)]
    falling = sum(after < before for before, after in pairwise(stamps))
    rising = sum(after > before for before, after in pairwise(stamps))
    return text if falling <= rising else "\n".join(reversed(text.rstrip("\n").split("\n"))) + "\n"


def by_time(logs: Mapping[int, str]) -> Iterator[tuple[float, int, str]]:
    """(time, node, lines of one second) of several logs in order; a line without a stamp stays with the one before."""
    return heapq.merge(*(_seconds(node, text) for node, text in logs.items()), key=lambda piece: piece[0])


def _seconds(node: int, text: str) -> Iterator[tuple[float, int, str]]:
    begin, at, stamp = 0, 0.0, ""
    for head in HEADS.finditer(text):
        if head[1] != stamp:
            if stamp:
                yield at, node, text[begin : head.start()]
                begin = head.start()
            stamp = head[1]
            at = max(at, _epoch(stamp))
    yield at, node, text[begin:]


def _epoch(stamp: str) -> float:
    try:
        return float(calendar.timegm(time.strptime(stamp, "%Y-%m-%d %H:%M:%S")))
    except ValueError:
        return 0.0
