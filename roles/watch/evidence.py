"""What the log says went wrong: single lines that a row of the failures knows, and traceback blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from roles.inventory.rank import Rank
from roles.watch.failures import FATAL, MEANINGS, Failure, Weight
from roles.watch.noise import NOISE

KEPT = 64  # pieces of evidence, and blocks: before up the first ones, afterwards the last ones
BLOCK_HEAD, BLOCK_TAIL = 6, 24  # lines of a block: how it begins, and its end, where the message is
# The outermost frame of main, of `python -m sglang.launch_server` and of `sglang serve`; what is caught shows only
# frames above it, and other programs that write into the log have another one.
OUTERMOST = re.compile(r'/(?:sglang/launch_server\.py|bin/sglang)", line \d+, in <module>')
_BENIGN = re.compile("|".join(f"(?:{regex})" for _, regex in NOISE))


@dataclass(frozen=True)
class Evidence:
    """One line that a row knows. `stage` is where its rank was, for words that mean another thing at another time."""

    failure: Failure
    numbers: Mapping[str, float | str]
    node: int
    rank: Rank | None
    at: float
    text: str
    block: int = 0
    stage: str = ""
    number: int = 0  # line in its log
    plain: bool = False  # an ordinary line of the log, in no traceback: many a warning has the words of a failure

    @property
    def key(self) -> tuple[str, int, Rank | None, bool]:
        """What is kept once: the same words of the same rank."""
        return self.failure.id, self.node, self.rank, self.plain

    @property
    def weight(self) -> Weight:
        """What it is worth: a cause that is only mentioned in passing is a hint."""
        row = self.failure
        return "hint" if row.weight == "cause" and self.plain and not (row.ends or row.logged) else row.weight

    @property
    def cause(self) -> str:
        """In one sentence."""
        return self._filled(MEANINGS.get((self.failure.id, self.stage), (self.failure.cause, ""))[0])

    @property
    def todo(self) -> str:
        """What to do about it."""
        return self._filled(MEANINGS.get((self.failure.id, self.stage), ("", self.failure.do))[1])

    def _filled(self, text: str) -> str:
        words = {k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in self.numbers.items()}
        return text.format_map({"what": "", "line": self.text.strip(), **words})


@dataclass(frozen=True)
class Block:
    """A traceback: whose it is as far as the line that introduced it says, and what it says at its end."""

    node: int
    serial: int
    rank: Rank | None
    at: float
    lines: tuple[str, ...]
    exception: str = ""  # the last one of a chain; the first stands in the lines
    own: bool = False  # introduced by nobody: main, or a process that writes without heads
    outermost: bool = False  # it goes down to where Python was started
    fatal: bool = False  # and nobody caught what it tells: its process ends, which may take seconds

    @property
    def benign(self) -> bool:
        """A handled exception that a line of noise, or any line but a scheduler's last, reports."""
        return not self.own and (bool(_BENIGN.search(self.lines[0])) or not FATAL.match(self.lines[0]))

    def with_line(self, text: str, *, exception: bool) -> Block:
        """The block with one more line; the middle of a long one is left out."""
        lines = (*self.lines, text[:400])
        if len(lines) > BLOCK_HEAD + BLOCK_TAIL:
            lines = (*lines[:BLOCK_HEAD], *lines[-BLOCK_TAIL:])
        outermost = self.outermost or OUTERMOST.search(text) is not None
        last = text.strip()[:400] if exception else self.exception
        fatal = self.fatal or (self.own and outermost and exception)
        return replace(self, lines=lines, exception=last, outermost=outermost, fatal=fatal)
