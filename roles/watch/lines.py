"""Text of a log -> Line: time, axes of the rank, source, message. Any cut of the bytes gives the same lines."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from roles.inventory.rank import Rank
from roles.watch.launchers import launcher_of

LINE_LIMIT = 32 * 1024  # characters kept of one line; the rest is read on and dropped (the argument echo has 15 K)

Source = Literal["sglang", "uvicorn", "torch", "nccl", "gloo", "bar", "traceback", "raw"]
Axes = tuple[tuple[str, int], ...]

AXIS = r"(?:DP|PP|ATTN_CP|MOE_DP|TP|EP)"
# "[2026-11-29 14:37:54.123 PP0 TP1] ": no zone, no level. The axes come in another order in nearly every release.
HEAD = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,](\d{3}))?"
    rf"((?: {AXIS}\d+)*)(?: encode_(?:server|dp_worker\[\d+\]))?\] "
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ONE_AXIS = re.compile(rf"({AXIS})(\d+)")
_UVICORN = ("INFO:  ", "WARNING:  ", "ERROR:  ", "CRITICAL:  ", "DEBUG:  ", "TRACE:  ")
_TORCH = re.compile(r"\[rank(\d+)\]:\s?|\[[WEIF]\d{4} [\d:.]+ [\w./]+\.(?:cpp|cu|h|hpp|cc):\d+\]")
_NCCL = re.compile(r"\S+:\d+:\d+ \[\d+\] NCCL ")
_BAR = re.compile(r"\d+%\||\d+% Completed \| \d+/")
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: |$)")
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
_OUTSIDE = re.compile(r"/\S+\.py:\d+: \w+Warning: |nanobind: |Process \S+:$|See https://nanobind")
# Batches and answered requests: all that a busy server prints, and the only lines that come in millions.
STEADY = ("Prefill batch", "Decode batch", *(f"INFO:     {first}" for first in "0123456789[:"))


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


class LineReader:
    """Cuts text at any place into lines; keeps the half line at its end and the open traceback for the next piece."""

    def __init__(self, *, fold_steady: bool = False) -> None:
        self.steady = 0  # steady-state lines left out by fold_steady
        self._fold = fold_steady
        self._tail = ""
        self._number = 1
        self._blocks = 0
        self._open: Line | None = None  # the line that opened the traceback block that is not closed yet
        self._phase: Literal["body", "raised", "chained"] = "body"  # how far that block is
        self._torn = False  # two blocks were open at once: further body lines belong to nobody for certain
        self._launcher: re.Pattern[str] | None = None

    def feed(self, text: str) -> list[Line]:
        """The lines that `text` completes."""
        pieces = (self._tail + text).split("\n")
        tail = pieces.pop()
        found: list[Line] = []
        for piece in pieces:
            if self._fold and _is_steady(piece):
                self.steady += 1
            else:
                self._cut(piece, found)
            self._number += 1
        if "\r" in tail:  # a bar redraws for minutes without ending its line
            done, tail = tail.rsplit("\r", 1)
            self._cut(done, found)
        self._tail = tail[:LINE_LIMIT]
        return found

    def flush(self) -> list[Line]:
        """The half line at the end, as a line: there will be no more."""
        found: list[Line] = []
        tail, self._tail = self._tail, ""
        self._cut(tail, found)
        return found

    def _cut(self, piece: str, found: list[Line]) -> None:
        for part in piece.split("\r") if "\r" in piece else (piece,):
            text = part[:LINE_LIMIT]
            if "\x1b" in text:
                text = _ANSI.sub("", text)
            if self._fold and _is_steady(text):
                self.steady += 1
            elif text and not text.isspace():
                self._one(text, found)

    def _one(self, text: str, found: list[Line]) -> None:
        head = HEAD.match(text)
        if head is None:
            text = self._without_launcher(text)
            head = HEAD.match(text) or (HEAD.search(text) if "[20" in text else None)
        if head is None:
            found.append(self._headless(text))
            return
        if head.start():  # two writers shared a line: what stands before the head is a line of its own
            found.append(self._headless(text[: head.start()]))
        found.append(self._headed(text, head))

    def _without_launcher(self, text: str) -> str:
        if self._launcher is None:
            self._launcher = launcher_of(text, HEAD)
        prefix = self._launcher.match(text) if self._launcher else None
        return text[prefix.end() :] if prefix else text

    def _headed(self, text: str, head: re.Match[str]) -> Line:
        time, ms, axes = head.groups()
        message = text[head.end() :]
        source: Source = "uvicorn" if message.startswith(_UVICORN) else "sglang"
        line = Line(message, time, int(ms) if ms else None, axes_of(axes) if axes else (), source, 0, self._number)
        if message.endswith("Traceback (most recent call last):"):
            return self._opened(line)
        if self._phase != "body":
            self._closed()
        return line

    def _headless(self, text: str) -> Line:
        line = Line(text, number=self._number, source=_source(text))
        if line.source == "torch" and (world := _TORCH.match(text)) and world[1]:
            return line._replace(axes=(("WORLD", int(world[1])),), text=text[world.end() :])
        if text.startswith("Traceback (most recent") and not (self._open and self._phase == "chained"):
            return self._opened(line)
        if self._open is None or line.source != "raw":
            return line
        return self._continued(line)

    def _opened(self, line: Line) -> Line:
        self._torn = self._open is not None and self._phase == "body"
        self._blocks += 1
        self._phase = "body"
        source: Source = line.source if line.time else "traceback"
        self._open = line._replace(block=self._blocks, source=source)
        return self._open

    def _continued(self, line: Line) -> Line:
        assert self._open is not None
        if _OUTSIDE.match(line.text):
            self._closed()
            return line
        if line.text.startswith("Traceback (most recent"):
            self._phase = "body"
        elif line.text.startswith(_CHAIN):
            self._phase = "chained"
        elif _EXCEPTION.match(line.text):
            self._phase = "raised"
        axes, block = ((), 0) if self._torn else (self._open.axes, self._open.block)
        return line._replace(source="traceback", axes=axes, block=block)

    def _closed(self) -> None:
        self._open, self._phase, self._torn = None, "body", False


def _is_steady(piece: str) -> bool:
    return piece.startswith(STEADY, piece.find("] ", 20, 80) + 2) and piece.startswith("[2")


def _source(text: str) -> Source:
    if _TORCH.match(text):
        return "torch"
    if " NCCL " in text and _NCCL.match(text):
        return "nccl"
    if text.startswith("[Gloo] "):
        return "gloo"
    return "bar" if "%" in text and _BAR.search(text) else "raw"
