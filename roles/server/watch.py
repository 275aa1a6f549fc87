"""`inv watch`: stay with a deployment that is up; when it is lost say at once which rank, where and why."""

from __future__ import annotations

import time
from pathlib import Path

from roles.inventory.errors import Unreachable
from roles.remote import Remote, each
from roles.server.attached import asked, board_of, request, request_later
from roles.server.closer import with_witnesses
from roles.server.following import Following, Observer
from roles.server.reaching import reaching
from roles.server.severed import Severed
from roles.server.standing import Standing
from roles.server.target import Hosts
from roles.watch import Board, Verdict, Watcher
from roles.watch.verdict import STALL

ENDS = ("lost", "failed", "foreign")
WELL = ("up", "loading")
MOST = 64 << 20  # bytes of a log that are fetched; of a longer one its last LINES
LINES = 200_000


class Watch:
    """One watch of a run, which may be loading still. Ending it leaves the server as it is."""

    def __init__(self, hosts: Hosts, run: Standing, observer: Observer, folder: Path) -> None:
        self.run, self.observer = run, observer
        nodes = {node: (remote, asked(remote, run.run)) for node, remote in hosts.node_hosts(run)}
        if 0 not in nodes:
            raise Unreachable(f"{run.deployment}: node 0 ({run.hosts[0]}) does not answer", do="inv status")
        board = board_of(run, {node: summary for node, (_, summary) in nodes.items()})
        self.watcher = Watcher(board)
        requests = [(node, remote, request(run, node, remote, said)) for node, (remote, said) in nodes.items()]
        requests += [
            (node, hosts.remotes[name], request_later(run, hosts.remotes[name]))
            for node, name in enumerate(run.hosts)
            if node not in nodes and name in hosts.remotes
        ]
        self._remotes = [remote for remote, _ in nodes.values()]
        self._following = Following(self.watcher, requests, observer, folder)
        self._severed = Severed(reaching({node: remote for node, remote, _ in requests}), observer.step)
        timeouts = (nodes[0][1].get("plan") or {}).get("timeouts") or {}
        self._said, self._stall = "", float(timeouts.get("stall") or STALL)

    def until_lost(self) -> Verdict:
        """Watch until it is lost (or, when it was loading, has failed). For ever, if all goes well."""
        with self._following:
            for changes in self._following.changes():
                now = time.time()
                board = self.watcher.board
                self.observer.board(board, changes, now)
                verdict = self._judged(board, now)
                if verdict.kind in ENDS:
                    self.observer.step(verdict.ending)  # at once: its evidence may take seconds to come
                    self._following.last_words()
                    return with_witnesses(verdict, self.watcher.board, self._remotes, self.run.deployment, self.run.run)
                self._tell(verdict)
        raise AssertionError("the changes never end")

    def _judged(self, board: Board, now: float) -> Verdict:
        verdict = self.watcher.verdict(now, self._stall)
        severed = self._severed.verdict(board, now)
        return verdict if verdict.kind in ENDS else severed or verdict

    def _tell(self, verdict: Verdict) -> None:
        """Say when it stops or begins to be well, once. What only is not probed yet is no news."""
        board = self.watcher.board
        unasked = verdict.kind == "stalled" and board.up_at is not None and board.generation is None
        if verdict.kind == "disconnected" or unasked:  # the first is among the changes already
            return
        said = "well" if verdict.kind in WELL else verdict.sentence
        if said != self._said:
            if said != "well" or self._said:
                self.observer.step(verdict.sentence)
            self._said = said


def keep_logs(hosts: Hosts, run: Standing, folder: Path) -> dict[str, str]:
    """Each node's whole log into the run's folder here. Gives a line for each host where that failed."""

    def one(pair: tuple[int, Remote]) -> None:
        node, remote = pair
        size = int(run.nodes[node][1].get("log_bytes") or 0)
        request = {"workdir": remote.host.workdir, "run": run.run, "lines": LINES if size > MOST else None}
        target = folder / f"node{node}.log"
        part = target.with_suffix(".part")
        with part.open("w", encoding="utf-8", errors="replace") as file:
            for frame in remote.stream("log", request):
                if frame["f"] == "log":
                    file.write(frame["text"])
        part.replace(target)

    outcomes = each(hosts.node_hosts(run), one)
    return {outcome.item[1].host.name: str(outcome.error) for outcome in outcomes if outcome.error}
