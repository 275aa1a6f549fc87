"""Follow all hosts at once, fold what they say into the board, end at *up* or at the earliest cause why not."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

from roles.inventory.errors import AllranksError
from roles.remote import Follower, Frame
from roles.server.deployment import Deployment
from roles.server.run import Run
from roles.watch import Board, Change, Verdict, Watcher, expect

TICK = 0.25  # seconds between looks at the clock when nothing comes
BATCH = 500  # frames folded between two looks at the verdict
LAST_WORDS = 2.0  # seconds that a failed run's log is still read, so that its record is whole

FINAL = ("up", "failed", "foreign", "different", "lost", "stalled")


class Observer(Protocol):
    """Whoever watches a deploy: a terminal's board, plain lines, JSON, or a test."""

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

    def close(self) -> None:
        """Flush and close them all."""
        for file in self.files.values():
            file.close()
        self.files.clear()


def board_for(run: Run) -> Board:
    """The empty board of a run: every expected rank is waiting."""
    plan = run.plan
    return expect(
        plan.ranks,
        layout=plan.profile.layout,
        nnodes=len(plan.nodes),
        expected=plan.expected,
        graphs=plan.graphs,
        hosts=[node.host.name for node in plan.nodes],
        port=plan.nodes[0].port,
    )


class Confirmation:
    """One wait for a run to be up. Ending it, by any exception too, leaves the server as it is."""

    def __init__(self, deployment: Deployment, run: Run, observer: Observer, folder: Path) -> None:
        self.deployment, self.run, self.observer = deployment, run, observer
        self.watcher = Watcher(board_for(run))
        self._frames: queue.Queue[tuple[int, Frame]] = queue.Queue(maxsize=10_000)
        self._skew: dict[int, float] = {}
        self._log = Log(folder)
        self._followers = [
            Follower(remote, {**run.follow_request(node), "lease": deployment.lease.id}, self._emit(node.node))
            for remote, node in zip(deployment.remotes, deployment.plan.nodes, strict=True)
        ]

    def wait(self) -> Verdict:
        """Watch until the verdict is final: up, failed, foreign, different, lost or stalled."""
        try:
            for follower in self._followers:
                follower.start()
            verdict = self._until_final()
            if verdict.kind == "up":
                self._note_up()
            else:
                self._last_words()
            return verdict
        finally:
            for follower in self._followers:
                follower.stop()
            self._log.close()

    def _until_final(self) -> Verdict:
        stall = float(self.run.plan.profile.timeouts.stall)
        for changes in self._batches():
            now = time.time()
            self.observer.board(self.watcher.board, changes, now)
            verdict = self.watcher.verdict(now, stall=stall)
            if verdict.kind in FINAL:
                return verdict
        raise AssertionError("the batches never end")

    def _batches(self) -> Iterator[list[Change]]:
        """Changes as frames come; an empty list for each tick without any."""
        while True:
            changes: list[Change] = []
            try:
                item = self._frames.get(timeout=TICK)
                for _ in range(BATCH):
                    changes += self._fold(*item)
                    item = self._frames.get_nowait()
            except queue.Empty:
                pass
            yield changes

    def _fold(self, node: int, frame: Frame) -> Sequence[Change]:
        """One frame into the board, its time put on this machine's clock."""
        if frame["f"] == "failed":
            raise AllranksError(str(frame["message"]))
        if frame["f"] == "lease":
            self.observer.step(f"{self.deployment.plan.nodes[node].host.name}: {frame['message']}; still watching")
        self._log.take(node, frame)
        return self.watcher.feed(node, frame)

    def _emit(self, node: int) -> Any:
        def emit(frame: Frame) -> None:
            stamp = frame.get("t")
            if isinstance(stamp, int | float) and frame["f"] not in ("lost_connection", "connected", "failed"):
                if frame["f"] == "hello":
                    self._skew[node] = stamp - time.time()
                    frame = {**frame, "skew": self._skew[node]}
                frame = {**frame, "t": stamp - self._skew.get(node, 0.0)}
            self._frames.put((node, frame))

        return emit

    def _note_up(self) -> None:
        """Have every host write down that it was up and which pid is which rank; wait for its word (3 s at most)."""
        for follower in self._followers:
            follower.tell({"c": "up"})
        waiting, end = set(range(len(self._followers))), time.monotonic() + 3.0
        while waiting and time.monotonic() < end:
            try:
                node, frame = self._frames.get(timeout=0.1)
            except queue.Empty:
                continue
            self._fold(node, frame)
            if frame["f"] == "noted":
                waiting.discard(node)
        if not waiting:
            self.deployment.lease.given_back()

    def _last_words(self) -> None:
        end = time.monotonic() + LAST_WORDS
        while time.monotonic() < end and not all(state.exited for state in self.watcher.board.nodes.values()):
            try:
                self._fold(*self._frames.get(timeout=0.1))
            except queue.Empty:
                continue
            except AllranksError:
                return
