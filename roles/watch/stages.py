"""Which stage follows from the milestones that a rank has reached."""

from __future__ import annotations

from dataclasses import replace

from roles.watch.board import Board
from roles.watch.spellings import Kind
from roles.watch.states import RankState, Stage


def restaged(board: Board) -> Board:
    """The stages that follow from what was reached; one rank's first capture moves the last milestone of all."""
    captures = board.captures
    changed = {
        rank: replace(state, stage=stage)
        for rank, state in board.ranks.items()
        if (stage := stage_of(state, captures=captures)) is not state.stage
    }
    return replace(board, ranks={**board.ranks, **changed}) if changed else board


def stage_of(state: RankState, *, captures: bool) -> Stage:
    """A rank's stage from the milestones it has reached."""
    done = state.reached
    if state.died is not None:
        return Stage.DEAD
    if state.captures:
        return Stage.CAPTURING
    if Kind.POOL_END in done:
        return Stage.MEMORY if captures and Kind.CAPTURE_END not in done else Stage.READY
    for kind, stage in _STAGES:
        if kind in done:
            return stage
    return Stage.STARTING if state.pid else Stage.WAITING


_STAGES = (
    (Kind.KV_POOL, Stage.MEMORY),
    (Kind.WEIGHTS_END, Stage.LOADED),
    (Kind.WEIGHTS_BEGIN, Stage.LOADING),
    (Kind.DIST_END, Stage.DISTRIBUTED),
    (Kind.GATED, Stage.DISTRIBUTED),
    (Kind.DIST_BEGIN, Stage.DISTRIBUTED),
)
