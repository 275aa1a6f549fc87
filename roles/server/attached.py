"""A run that is found running -> the board to watch it on, and what each host is asked to follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from roles.inventory import Layout, Rank
from roles.inventory.errors import InputError
from roles.plan import Seat
from roles.remote import Remote
from roles.server.standing import Standing, port_of
from roles.watch import Board, RankState, Stage, expect
from roles.watch.spellings import Kind


def asked(remote: Remote, run: str) -> dict[str, Any]:
    """The run's summary from a host, with the plan that is kept there."""
    request = {"workdir": remote.host.workdir, "run": run, "plan": True}
    return remote.one("status", request, "run", timeout=40.0)


def board_of(run: Standing, summaries: Mapping[int, dict[str, Any]]) -> Board:
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
        stalls=(plan.get("timeouts") or {}).get("stages"),
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


def request(run: Standing, node: int, remote: Remote, said: Mapping[str, Any]) -> dict[str, Any]:
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


def request_later(run: Standing, remote: Remote) -> dict[str, Any]:
    """What `follow` is asked of a host that did not answer at first, when it does: its log from then on."""
    begin = -1 if run.up else 0
    return {"workdir": remote.host.workdir, "run": run.run, "from": begin, "log": True, "watch": True}
