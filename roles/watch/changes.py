"""Two boards -> what has changed between them, a line each. When it was stands beside it: the reader counts from where
he likes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from roles.watch.board import Board
from roles.watch.deaths import signal_name
from roles.watch.spellings import RANK_MILESTONES, Kind
from roles.watch.states import NodeState, RankState

QUARTERS = 4  # progress of weight files is told in so many steps
TOLD = tuple(kind for kind in RANK_MILESTONES if kind is not Kind.KV_POOL)  # the pool's end follows at once


@dataclass(frozen=True)
class Change:
    """One thing that has changed. `label` is the rank it is about, None for main, HTTP or the connection."""

    time: float
    node: int
    host: str
    label: str | None
    text: str


def changes(before: Board, after: Board, at: float) -> list[Change]:
    """In the order of ranks, then nodes, then HTTP."""
    found: list[Change] = []
    if before.ranks is not after.ranks:
        for rank, state in after.ranks.items():
            if state is not before.ranks[rank]:
                found += _rank(before.ranks[rank], state, at)
    for node, now in after.nodes.items():
        if now is not before.nodes[node]:
            found += [Change(at, node, now.host, None, text) for text in _node(before.nodes[node], now)]
    head = after.nodes[0]
    return found + [Change(at, 0, head.host, None, text) for text in _main(before, after)]


BEGINS = {Kind.DIST_END: Kind.DIST_BEGIN, Kind.WEIGHTS_END: Kind.WEIGHTS_BEGIN, Kind.CAPTURE_END: Kind.CAPTURE_BEGIN}


def _took(state: RankState, kind: Kind) -> str:
    """` in 12.3 s`, for a milestone that ends what another one began."""
    begin = state.reached.get(BEGINS.get(kind, kind), state.reached[kind])
    seconds = state.reached[kind] - begin
    return f" in {seconds:.1f} s" if seconds >= 0.1 else ""


def _rank(before: RankState, after: RankState, at: float) -> Iterator[Change]:
    if after.pid is not None and before.pid is None:
        yield Change(at, after.node, after.host, after.label, f"process started, pid {after.pid}")
    for kind in TOLD:
        when = after.reached.get(kind)
        if when is not None and when != before.reached.get(kind):
            yield Change(when, after.node, after.host, after.label, f"{kind.value}{_took(after, kind)}")
    if after.died is not None and before.died is None:
        by = f", {signal_name(after.signal)}" if after.signal else ""
        yield Change(after.died, after.node, after.host, after.label, f"process ended, pid {after.pid}{by}")
    if after.state in ("T", "t") and before.state not in ("T", "t"):
        what = f"process stopped by a signal; kill -CONT {after.pid} on {after.host} wakes it"
        yield Change(at, after.node, after.host, after.label, what)


def _node(before: NodeState, after: NodeState) -> Iterator[str]:
    if after.main is not None and before.main is None:
        yield f"main started, pid {after.main}"
    if after.exited and not before.exited:
        yield "main ended" + (f" with status {after.exit_code}" if after.exit_code is not None else "")
    if before.connected and not after.connected:
        why = f" ({after.why})" if after.why else ""
        yield f"connection lost{why}; unless {after.host} itself is down, the server goes on by itself"
    if after.connected and not before.connected:
        yield "connected again"
    if before.detokenizer and not after.detokenizer:
        yield "detokenizer ended"
    if after.dummy is not None and before.dummy is None:
        yield "all ranks of this node are ready"
    pids = [holder.get("pid") if holder else None for holder in (before.holder, after.holder)]
    if after.holder is not None and pids[0] != pids[1]:
        whose = "this run" if after.holder.get("ours") else f"another process: {after.holder.get('cmdline')}"
        yield f"port held by pid {pids[1]}, {whose}"


def _main(before: Board, after: Board) -> Iterator[str]:
    if after.shards is not None and _quarter(after.shards) != _quarter(before.shards):
        yield f"weights: {after.shards[0]} of {after.shards[1]} files"
    if after.ready_at is not None and before.ready_at is None:
        yield "ready line"
    if after.health is not None and after.health.status != (before.health.status if before.health else None):
        yield f"health {after.health.status or after.health.error or 'no answer'}"
    if after.settings is not None and before.settings is None:
        yield f"settings read (SGLang {after.version})" if after.version else "settings read"
    if after.generation is not None and before.generation is None:
        took = f" in {after.generation.seconds:.1f} s" if after.generation.seconds is not None else ""
        yield f"generation: {after.generation.status or after.generation.error}{took}"


def _quarter(shards: tuple[int, int] | None) -> int:
    return -1 if shards is None or not shards[1] else shards[0] * QUARTERS // shards[1]
