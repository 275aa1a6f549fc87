"""A board -> how long each stage took: from the ranks' milestones, the slowest rank counts."""

from __future__ import annotations

from dataclasses import dataclass

from roles.watch.board import Board
from roles.watch.spellings import Kind
from roles.watch.states import RankState

# name, the milestones that begin it (the first one that was reached), and the one that ends it
SPANS: tuple[tuple[str, tuple[Kind, ...], Kind], ...] = (
    ("distributed", (Kind.DIST_BEGIN,), Kind.DIST_END),
    ("before weights", (Kind.DIST_END,), Kind.WEIGHTS_BEGIN),
    ("weights", (Kind.WEIGHTS_BEGIN,), Kind.WEIGHTS_END),
    ("memory", (Kind.WEIGHTS_END,), Kind.POOL_END),
    ("graphs", (Kind.CAPTURE_BEGIN,), Kind.CAPTURE_END),
)


@dataclass(frozen=True)
class Duration:
    """One stage: seconds of its slowest rank, and that rank's label (empty for what main does)."""

    name: str
    seconds: float
    slowest: str = ""


def durations(board: Board) -> list[Duration]:
    """The stages in order, those of which both ends were seen."""
    states = list(board.ranks.values())
    found = [_longest("start", board.started, states, Kind.DIST_BEGIN)]
    for name, begins, end in SPANS:
        spans = [(_span(state, begins, end), state.label) for state in states]
        known = [(seconds, label) for seconds, label in spans if seconds is not None]
        found.append(Duration(name, *max(known)) if known else None)
    last = [max(state.reached.values()) for state in states if state.reached]
    if board.ready_at is not None and last:
        found.append(Duration("HTTP and warmup", max(0.0, board.ready_at - max(last))))
    if board.ready_at is not None and board.up_at is not None:
        found.append(Duration("health, settings, generation", max(0.0, board.up_at - board.ready_at)))
    return [duration for duration in found if duration is not None]


def _longest(name: str, begin: float | None, states: list[RankState], end: Kind) -> Duration | None:
    reached = [(state.reached[end], state.label) for state in states if end in state.reached]
    if begin is None or not reached:
        return None
    at, label = max(reached)
    return Duration(name, max(0.0, at - begin), label)


def _span(state: RankState, begins: tuple[Kind, ...], end: Kind) -> float | None:
    begin = next((state.reached[kind] for kind in begins if kind in state.reached), None)
    finish = state.reached.get(end)
    return None if begin is None or finish is None else max(0.0, finish - begin)
