"""A log however long -> what tells its story: millions of steady-state lines left out, memory bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from roles.watch.lines import LINE_LIMIT, is_steady

KEPT_STEADY = 3  # steady lines kept before one that is not: they say until when it served
HEAD, TAIL = 200_000, 200_000  # other lines kept, from the start and from the end


@dataclass(frozen=True)
class Condensed:
    """`text`: the lines that are left. `steady`, `cut`: how many steady ones, and others of the middle, are not."""

    text: str
    steady: int = 0
    cut: int = 0


def condense(pieces: Iterable[str]) -> Condensed:
    """Read a log piece by piece, wherever it is cut."""
    head: list[str] = []
    tail: deque[str] = deque(maxlen=TAIL)
    recent: deque[str] = deque(maxlen=KEPT_STEADY)
    steady = cut = 0
    for line in _lines(pieces):
        if is_steady(line):
            steady += len(recent) == KEPT_STEADY
            recent.append(line)
            continue
        for kept in (*recent, line):
            if len(head) < HEAD:
                head.append(kept)
            else:
                cut += len(tail) == TAIL
                tail.append(kept)
        recent.clear()
    return Condensed("".join(f"{line}\n" for line in (*head, *tail, *recent)), steady, cut)


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from (line[: 2 * LINE_LIMIT] for line in whole)
        rest = rest[: 2 * LINE_LIMIT]
    if rest:
        yield rest
