"""`inv watch`: stay with a deployment that is up; when it is lost say at once which rank, where and why."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from roles.inventory import Layout, Rank
from roles.inventory.errors import AllranksError, InputError
from roles.plan import Seat
from roles.remote import Remote, each
from roles.server.closer import with_witnesses
from roles.server.following import Following, Observer
from roles.server.standing import Standing, port_of
from roles.server.target import Hosts
from roles.watch import Board, RankState, Stage, Verdict, Watcher, expect
from roles.watch.spellings import Kind

ENDS = ("lost", "failed", "foreign")
WELL = ("up", "loading")
GIVEN_UP = 30.0  # seconds without a node's host, and /health not 200 either, until the deployment counts as lost
MOST = 64 << 20  # bytes of a log that are fetched; of a longer one its last LINES
LINES = 200_000


class Watch:
    """One watch of a run, which may be loading still. Ending it leaves the server as it is."""

    def __init__(self, hosts: Hosts, run: Standing, observer: Observer, folder: Path) -> None:
        self.run, self.observer = run, observer
        nodes = {node: (remote, _asked(remote, run.run)) for node, remote in hosts.node_hosts(run)}
        if 0 not in nodes:
            raise AllranksError(f"{run.deployment}: node 0 ({run.hosts[0]}) does not answer", do="inv status")
        board = _board(run, {node: summary for node, (_, summary) in nodes.items()})
        self.watcher = Watcher(board)
        requests = [(node, remote, _request(run, node, remote, said)) for node, (remote, said) in nodes.items()]
        self._remotes = [remote for remote, _ in nodes.values()]
        self._following = Following(self.watcher, requests, observer, folder)
        self._said = ""

    def until_lost(self) -> Verdict:
        """Watch until it is lost (or, when it was loading, has failed). For ever, if all goes well."""
        with self._following:
            for changes in self._following.changes():
                now = time.time()
                board = self.watcher.board
                self.observer.board(board, changes, now)
                verdict = abandoned(board, now) or self.watcher.verdict(now)
                if verdict.kind in ENDS:
                    self.observer.step(verdict.ending)  # at once: its evidence may take seconds to come
                    self._following.last_words()
                    return with_witnesses(verdict, self.watcher.board, self._remotes, self.run.deployment, self.run.run)
                self._tell(verdict)
        raise AssertionError("the changes never end")

    def _tell(self, verdict: Verdict) -> None:
        """Say when it stops or begins to be well, once. What only is not probed yet is no news."""
        if verdict.kind == "disconnected" or (verdict.kind == "stalled" and self.watcher.board.generation is None):
            return  # the first is among the changes already
        said = "well" if verdict.kind in WELL else verdict.sentence
        if said != self._said:
            if said != "well" or self._said:
                self.observer.step(verdict.sentence)
            self._said = said


def abandoned(board: Board, now: float) -> Verdict | None:
    """A host of several that has gone for good takes the whole model with it: no answer from it, none from /health."""
    if len(board.nodes) == 1 or board.up_at is None or (board.health and board.health.status == 200):
        return None
    for node in board.nodes.values():
        if not node.connected and node.lost_at is not None and now - node.lost_at > GIVEN_UP:
            label = next((state.label for state in board.ranks.values() if state.node == node.node), None)
            cause = f"{node.host} has not answered for {now - node.lost_at:.0f} s, and /health answers no more"
            return Verdict("lost", f"{label} on {node.host}: {cause} ({node.why})", label, node.host, cause=cause)
    return None


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


def _asked(remote: Remote, run: str) -> dict[str, Any]:
    request = {"workdir": remote.host.workdir, "run": run, "plan": True}
    return remote.one("status", request, "run", timeout=40.0)


def _board(run: Standing, summaries: Mapping[int, dict[str, Any]]) -> Board:
    """What the plan, as the hosts keep it, expects; of a run that was up each rank is known by its pid already."""
    plan = summaries[0].get("plan") or {}
    if not plan.get("ranks"):
        raise InputError(f"{run.deployment}: its plan is not on {run.hosts[0]} any more", do="inv logs --follow")
    seats = [
        Seat(Rank.parse(s["label"]), s["label"], s["node"], s["host"], s.get("gpu"), s.get("numa"), s["title"])
        for s in plan["ranks"]
    ]
    board = expect(
        seats,
        layout=Layout(**plan["layout"]),
        nnodes=len(run.hosts),
        expected=plan["expected"],
        graphs=False if run.up else None,
        hosts=list(run.hosts),
        port=port_of(summaries[0]),
        up_at=run.up,
    )
    return _known(board, run.up, summaries) if run.up else board


def _known(board: Board, up: float, summaries: Mapping[int, dict[str, Any]]) -> Board:
    """The board of a run that was up when each host was asked: nobody who dies from then on can be missed."""
    seen = {(node, rank["title"]): rank for node, said in summaries.items() for rank in said.get("ranks") or []}

    def rank(state: RankState) -> RankState:
        found = seen.get((state.node, state.title)) or {}
        reached = {**state.reached, Kind.POOL_END: up}
        return replace(state, stage=Stage.READY, reached=reached, pid=found.get("pid"), alive=found.get("alive"))

    nodes = {
        number: replace(node, main=said.get("main"), main_alive=said.get("main") is not None)
        for number, node in board.nodes.items()
        if (said := summaries.get(number)) is not None
    }
    ranks = {key: rank(state) for key, state in board.ranks.items()}
    return replace(board, ranks=ranks, nodes={**board.nodes, **nodes}, ready_at=up, bound_at=up)


def _request(run: Standing, node: int, remote: Remote, said: Mapping[str, Any]) -> dict[str, Any]:
    """What `follow` is asked: from the end of the log, or, while it is loading, from the log's beginning."""
    plan = said.get("plan") or {}
    timeouts, expected = plan.get("timeouts") or {}, plan.get("expected") or {}
    probe = {
        "address": said.get("probe_address") or "127.0.0.1",
        "port": port_of(dict(said)),
        "model": expected.get("served_model_name") or expected.get("model_path"),
        "health_timeout": timeouts.get("health", 25),
        "generation_timeout": timeouts.get("generation", 600),
        "prompt": "Say hello.",
    }
    return {
        "workdir": remote.host.workdir,
        "run": run.run,
        "from": int(said.get("log_bytes") or 0) if run.up else 0,
        "port": port_of(dict(said)),
        "probe": probe if node == 0 else None,
        "gpus": bool(said.get("gpus")),
        "log": True,
        "watch": True,
    }
