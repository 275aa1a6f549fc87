"""One line of a log: its head, its axes, who wrote it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from roles.inventory.rank import Rank

Source = Literal["sglang", "uvicorn", "torch", "nccl", "gloo", "bar", "traceback", "raw"]
Axes = tuple[tuple[str, int], ...]

AXIS = r"(?:DP|PP|ATTN_CP|MOE_DP|TP|EP)"
# "[2026-11-29 14:37:54.123 PP0 TP1] ": no zone, no level. The axes come in another order in nearly every release.
HEAD = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,](\d{3}))?"
    rf"((?: {AXIS}\d+)*)(?: encode_(?:server|dp_worker\[\d+\]))?\] "
)
_ONE_AXIS = re.compile(rf"({AXIS})(\d+)")
UVICORN = ("INFO:  ", "WARNING:  ", "ERROR:  ", "CRITICAL:  ", "DEBUG:  ", "TRACE:  ")
TORCH = re.compile(r"\[rank(\d+)\]:\s?|\[[WEIF]\d{4} [\d:.]+ [\w./]+\.(?:cpp|cu|h|hpp|cc):\d+\]")
_NCCL = re.compile(r"\S+:\d+:\d+ \[\d+\] NCCL ")
_BAR = re.compile(r"\d+%\||\d+% Completed \| \d+/")


class Line(NamedTuple):
    """One line: what it says, and who says it as far as the line itself tells."""

    text: str  # the message without its head
    time: str | None = None  # "2026-11-29 14:37:54", the host's local time
    ms: int | None = None
    axes: Axes = ()  # (("PP", 0), ("TP", 1)); torch's [rankN] is (("WORLD", N),)
    source: Source = "raw"
    block: int = 0  # serial number of the traceback block it is part of; 0 = none
    number: int = 0  # line number in the file, from 1

    @property
    def stamp(self) -> str:
        """Its time as printed, milliseconds too when there are any; empty for a line without a head."""
        return (self.time or "") + (f".{self.ms:03}" if self.ms is not None else "")

    @property
    def rank(self) -> Rank | None:
        """The rank by its own axes (an axis that is not printed is 0); no axes, no rank: never rank 0 by default."""
        named = dict(self.axes)
        if not named or "WORLD" in named:
            return None
        return Rank(pp=named.get("PP", 0), tp=named.get("TP", 0), dp=named.get("DP", 0))


@lru_cache(maxsize=4096)
def axes_of(text: str) -> Axes:
    """`" PP0 TP1"` or `"_PP0_TP1"` -> (("PP", 0), ("TP", 1)): sorted, the order printed means nothing."""
    return tuple(sorted((name, int(number)) for name, number in _ONE_AXIS.findall(text)))


def source_of(text: str) -> Source:
    """Who writes lines without SGLang's head that look like this one."""
    if TORCH.match(text):
        return "torch"
    if " NCCL " in text and _NCCL.match(text):
        return "nccl"
    if text.startswith("[Gloo] "):
        return "gloo"
    return "bar" if "%" in text and _BAR.search(text) else "raw"
