"""Follow all hosts at once, fold what they say into the board, end at *up* or at the earliest cause why not."""

from __future__ import annotations

import time
from pathlib import Path

from roles.check.asked import as_asked, expected
from roles.remote import Frame
from roles.server.closer import with_witnesses
from roles.server.deployment import Deployment
from roles.server.following import Following, Observer
from roles.server.reaching import reaching
from roles.server.run import Run
from roles.server.severed import Severed
from roles.watch import Board, Verdict, Watcher, expect

__all__ = ["Confirmation", "Observer", "board_for"]

FINAL = ("up", "failed", "foreign", "different", "lost", "stalled")
NOTED = 3.0  # seconds that writing down on every host that it is up may take
SURE = 2.0  # seconds in which a death seen meanwhile must have found its cause


def board_for(run: Run) -> Board:
    """The empty board of a run: every expected rank is waiting."""
    plan = run.plan
    return expect(
        plan.ranks,
        layout=plan.profile.layout,
        nnodes=len(plan.nodes),
        expected=expected(plan),
        graphs=plan.graphs,
        hosts=[node.host.name for node in plan.nodes],
        port=plan.nodes[0].port,
        stalls={str(stage): seconds for stage, seconds in plan.profile.timeouts.stages.items()},
    )


class Confirmation:
    """One wait for a run to be up. Ending it, by any exception too, leaves the server as it is."""

    def __init__(self, deployment: Deployment, run: Run, observer: Observer, folder: Path) -> None:
        self.deployment, self.run, self.observer = deployment, run, observer
        self.watcher = Watcher(board_for(run))
        nodes = [
            (node.node, remote, {**run.follow_request(node), "lease": deployment.lease.id})
            for remote, node in zip(deployment.remotes, deployment.plan.nodes, strict=True)
        ]
        self._following = Following(self.watcher, nodes, observer, folder)
        self._severed = Severed(reaching({node: remote for node, remote, _ in nodes}), observer.step)

    def wait(self) -> Verdict:
        """Watch until the verdict is final: up, failed, foreign, different, lost or stalled."""
        with self._following:
            verdict = self._until_final()
            if verdict.kind == "up":
                verdict = as_asked(self.run.plan, self.watcher.board, verdict, self._following.beginning())
            if verdict.kind == "up":
                self._note_up()
                verdict = self._still(verdict)
            if verdict.kind != "up":
                self.observer.step(verdict.sentence)  # at once: its evidence may take seconds to come
                self._following.last_words()
                remotes, name = self.deployment.remotes, self.run.plan.name
                verdict = with_witnesses(verdict, self.watcher.board, remotes, name, self.run.id)
            return verdict

    def _until_final(self) -> Verdict:
        stall = float(self.run.plan.profile.timeouts.stall)
        for changes in self._following.changes():
            now = time.time()
            self.observer.board(self.watcher.board, changes, now)
            verdict = self.watcher.verdict(now, stall=stall)
            severed = self._severed.verdict(self.watcher.board, now)
            if verdict.kind == "disconnected":
                verdict = severed or verdict
            if verdict.kind in FINAL:
                return verdict
        raise AssertionError("the changes never end")

    def _note_up(self) -> None:
        """Have every host write down that it was up and which pid is which rank; wait for its word."""
        self._following.tell("up")
        waiting = {node.node for node in self.deployment.plan.nodes}

        def noted(node: int, frame: Frame) -> bool:
            if frame["f"] == "noted":
                waiting.discard(node)
            return not waiting

        if self._following.until(noted, NOTED):
            self.deployment.lease.given_back()

    def _still(self, up: Verdict) -> Verdict:
        """Is it up even now? What died while that was being written down makes it lost, on whichever host."""
        end = time.monotonic() + SURE
        while time.monotonic() < end:
            now = self.watcher.verdict(time.time())
            if now.kind == "lost":
                return now
            if now.kind in ("up", "disconnected"):
                return up
            self._following.until(lambda *_: True, 0.2)
        return up
