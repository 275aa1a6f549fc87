"""All nodes of a run followed at once: their frames folded into one board, their logs kept, their last words heard."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

from roles.inventory.errors import AllranksError
from roles.remote import Follower, Frame, Remote
from roles.server.clocks import Clocks
from roles.watch import Board, Change, Watcher, due

TICK = 0.25  # seconds between looks at the clock when nothing comes
BATCH = 500  # frames folded between two looks at the verdict
BEGINNING = 1 << 20  # characters of a log in which the echo of the arguments is looked for
LAST_WORDS = 1.0  # seconds that a failed run's log is still read, so that its record is whole


class Observer(Protocol):
    """Whoever watches a run: a terminal's board, plain lines, JSON, or a test."""

    def step(self, text: str) -> None:
        """One line about what is being done."""

    def board(self, board: Board, changes: Sequence[Change], now: float) -> None:
        """The board as it is now and what changed since the last call (often nothing)."""


@dataclass
class Log:
    """The copies of the nodes' logs that this machine keeps, in the run's folder."""

    folder: Path
    files: dict[int, TextIO] = field(default_factory=dict)

    def take(self, node: int, frame: Frame) -> None:
        """Append a log frame's text."""
        if frame["f"] == "log":
            if node not in self.files:
                self.files[node] = (self.folder / f"node{node}.log").open("a", encoding="utf-8", errors="replace")
            self.files[node].write(frame["text"])

    def beginning(self) -> str:
        """The first part of node 0's log, in which the server repeats its arguments."""
        if 0 in self.files:
            self.files[0].flush()
        try:
            with (self.folder / "node0.log").open(encoding="utf-8", errors="replace") as file:
                return file.read(BEGINNING)
        except OSError:
            return ""

    def close(self) -> None:
        """Flush and close them all."""
        for file in self.files.values():
            file.close()
        self.files.clear()


class Following:
    """One follower a node, for as long as the block runs. Ending it, by any exception too, leaves the server as it is.

    `nodes`: each node's number, connection and `follow` request.
    """

    def __init__(
        self, watcher: Watcher, nodes: Sequence[tuple[int, Remote, Mapping[str, Any]]], observer: Observer, folder: Path
    ) -> None:
        self.watcher, self._observer = watcher, observer
        self._frames: queue.Queue[tuple[int, Frame]] = queue.Queue(maxsize=10_000)
        self._clocks = Clocks()
        self._log = Log(folder)
        self._names = {node: remote.host.name for node, remote, _ in nodes}
        self._followers = [Follower(remote, request, self._emit(node)) for node, remote, request in nodes]

    def __enter__(self) -> Following:
        for follower in self._followers:
            follower.start()
        return self

    def __exit__(self, *_: object) -> None:
        for follower in self._followers:
            follower.stop()
        self._log.close()

    def changes(self) -> Iterator[list[Change]]:
        """What changes as frames come, for ever; an empty list for each tick without any."""
        while True:
            yield self._some()

    def _some(self) -> list[Change]:
        changes: list[Change] = []
        try:
            changes += self._fold(*self._frames.get(timeout=min(TICK, due(self.watcher.board, time.time()))))
            for _ in range(BATCH):
                changes += self._fold(*self._frames.get_nowait())
        except queue.Empty:
            pass
        return changes

    def _fold(self, node: int, frame: Frame) -> Sequence[Change]:
        """One frame into the board, its time put on this machine's clock."""
        if frame["f"] == "failed":
            raise AllranksError(str(frame["message"]))
        if frame["f"] == "lease":
            self._observer.step(f"{self._names[node]}: {frame['message']}; still watching")
        self._log.take(node, frame)
        return self.watcher.feed(node, frame)

    def _emit(self, node: int) -> Callable[[Frame], None]:
        def emit(frame: Frame) -> None:
            self._frames.put((node, self._clocks.here(node, frame)))

        return emit

    def beginning(self) -> str:
        """The first part of node 0's log."""
        return self._log.beginning()

    def tell(self, command: str) -> None:
        """Send a command to the program on every host."""
        for follower in self._followers:
            follower.tell({"c": command})

    def until(self, done: Callable[[int, Frame], bool], seconds: float) -> bool:
        """Fold what comes until `done` says so of a frame; False: not within `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                node, frame = self._frames.get(timeout=0.1)
            except queue.Empty:
                continue
            self._fold(node, frame)
            if done(node, frame):
                return True
        return False

    def last_words(self) -> None:
        """Read on for a moment: the log's last lines come after the death that they explain."""
        nodes = self.watcher.board.nodes
        if not all(state.exited for state in nodes.values()):
            try:
                self.until(lambda *_: all(s.exited for s in self.watcher.board.nodes.values()), LAST_WORDS)
            except AllranksError:
                return
