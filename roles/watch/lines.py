"""Text of a log -> lines. However the text is cut, the lines are the same, and what is kept does not grow."""

from __future__ import annotations

import re

from roles.watch.launchers import launcher_of
from roles.watch.line import HEAD, TORCH, UVICORN, Line, Source, axes_of, source_of
from roles.watch.tracebacks import Tracebacks

LINE_LIMIT = 32 * 1024  # characters kept of one line; the rest is read on and dropped (the argument echo has 15 K)
# Batches and answered requests: all that a busy server prints, and the only lines that come in millions.
STEADY = ("Prefill batch", "Decode batch", *(f"INFO:     {first}" for first in "0123456789[:"))
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class LineReader:
    """Keeps the half line at the end and the open traceback from one piece of text to the next.

    `fold_steady`: steady-state lines are counted in `steady` and left out, which makes them cheap.
    """

    def __init__(self, *, fold_steady: bool = False) -> None:
        self.steady = 0
        self._fold = fold_steady
        self._tail = ""
        self._number = 1
        self._tracebacks = Tracebacks()
        self._launcher: re.Pattern[str] | None = None

    def feed(self, text: str) -> list[Line]:
        """The lines that `text` completes."""
        pieces = (self._tail + text).split("\n")
        tail = pieces.pop()
        found: list[Line] = []
        for piece in pieces:
            if self._fold and is_steady(piece):
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
            if self._fold and is_steady(text):
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
        source: Source = "uvicorn" if message.startswith(UVICORN) else "sglang"
        line = Line(message, time, int(ms) if ms else None, axes_of(axes) if axes else (), source, 0, self._number)
        return self._tracebacks.headed(line)

    def _headless(self, text: str) -> Line:
        source = source_of(text)
        world = TORCH.match(text) if source == "torch" else None
        if world and world[1]:
            return Line(text[world.end() :], axes=(("WORLD", int(world[1])),), source=source, number=self._number)
        return self._tracebacks.headless(Line(text, source=source, number=self._number))


def is_steady(piece: str) -> bool:
    """Whether a line of a log, its head included, is one of those that come in millions."""
    return piece.startswith(STEADY, piece.find("] ", 20, 80) + 2) and piece.startswith("[2")
