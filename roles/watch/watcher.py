"""Frames of all nodes, as they come -> one board, what changed, and a verdict. Holds the half lines between frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from roles.watch.board import Board
from roles.watch.changes import Change, changes
from roles.watch.events import Event, classify
from roles.watch.fold import advance, observe
from roles.watch.line import Line
from roles.watch.lines import LineReader
from roles.watch.sentences import Verdict
from roles.watch.spellings import Kind
from roles.watch.verdict import STALL, verdict

LAST = frozenset({"exit", "end", "log_reset"})  # after these no half line of the log will be completed


class Watcher:
    """Watches one run: feed it every frame of every node, ask it for the board and the verdict."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.counts: Counter[str] = Counter()  # lines by what they were: noise, cause, echo, exception
        self._readers = {node: LineReader(fold_steady=True) for node in board.nodes}

    def feed(self, node: int, frame: Mapping[str, Any]) -> list[Change]:
        """Fold one frame of a node; what that changed. Its "t" must be on the caller's clock."""
        before = self.board
        at = float(frame.get("t") or before.latest)
        if node in self._readers:
            self._log(node, frame, at)
        self.board = advance(self.board, node, frame)
        return changes(before, self.board, at)

    def verdict(self, now: float, stall: float = STALL) -> Verdict:
        """The verdict at `now`; `stall`: seconds without any progress after which it is stalled."""
        return verdict(self.board, now, stall)

    @property
    def steady(self) -> int:
        """Steady-state lines (batches, requests) seen and folded away."""
        return sum(reader.steady for reader in self._readers.values())

    def _log(self, node: int, frame: Mapping[str, Any], at: float) -> None:
        reader = self._readers[node]
        lines: list[Line] = []
        if frame["f"] == "log":
            lines = reader.feed(str(frame.get("text") or ""))
        elif frame["f"] in LAST:
            lines = reader.flush()
        if lines:
            seen = [(line, classify(line)) for line in lines]
            self.counts.update(kind for _, event in seen if (kind := _counted(event)))
            self.board = observe(self.board, node, at, seen)
        if frame["f"] == "log_reset":
            self._readers[node] = LineReader(fold_steady=True)


def _counted(event: Event | None) -> str:
    """What a line is counted as: noise, a consequence of something else, or an exception; all else is not counted."""
    if event is None:
        return ""
    if event.kind is Kind.FAILURE and event.failure is not None:
        return "echo" if event.failure.weight in ("echo", "wrapper") else "cause"
    return {Kind.NOISE: "noise", Kind.EXCEPTION: "exception"}.get(event.kind, "")
