"""Board + now -> Verdict: up, or what stands between it and up, in one sentence."""

from __future__ import annotations

from math import inf

from roles.watch import sentences
from roles.watch.blame import blame, ended_at
from roles.watch.board import Board
from roles.watch.conditions import behind, differences, missing
from roles.watch.sentences import Verdict
from roles.watch.stall import limit, progress_sentence, silent_for, stall_sentence
from roles.watch.states import Stage
from roles.watch.suspects import Blame

GRACE = 0.5  # seconds after a death in which another host, or main's own end, may still say why
SOON = 0.1  # the same where one host tells all: what a process wrote is told before its death is
STALL = 1800.0  # seconds without any progress


def verdict(board: Board, now: float, stall: float = STALL) -> Verdict:
    """The verdict at `now` (epoch seconds, the clock that the frames' times are on)."""
    lacking, different = missing(board), differences(board)
    was_up = board.up_at is not None
    if board.http and not was_up:
        foreign = sentences.foreign(board, lacking)
        if foreign is not None:
            return foreign
    restarted = next((node for node in board.nodes.values() if node.rebooted), None)
    if restarted is not None:
        return sentences.restarted(board, restarted.host, lacking)
    guilty = _guilty(board, now)
    if guilty is not None:
        return sentences.ended(board, guilty, lacking)
    full = next((node for node in board.nodes.values() if node.full), None)
    if full is not None and not was_up:
        return sentences.full(full.host, full.full, lacking)
    if any(not node.connected for node in board.nodes.values()):
        return sentences.disconnected(board, now, lacking, stall)
    if not lacking and not different:
        return Verdict("up", sentences.up(board))
    if different and (not lacking or board.generation is not None or board.elsewhere):
        return sentences.different(board, [str(setting) for setting in different], lacking)
    if (was_up and board.health is not None) or silent_for(board, now) > limit(board, stall):
        return Verdict("stalled", stall_sentence(board, now, lacking), missing=lacking, host=_slowest(board))
    return Verdict("loading", progress_sentence(board, lacking), missing=lacking, host=_slowest(board))


def _guilty(board: Board, now: float) -> Blame | None:
    """The guilty one, once there is nothing to wait for: its last words can come a moment after its death is seen."""
    end = ended_at(board)
    guilty = blame(board) if end is not None else None
    if end is None or guilty is None:
        return None
    return guilty if guilty.sure or max(now, board.latest) >= end + _grace(board) else None


def _grace(board: Board) -> float:
    main = board.nodes[0]
    return SOON if len(board.nodes) == 1 and (main.exited or main.main_died is None) else GRACE


def due(board: Board, now: float) -> float:
    """Seconds until a death that was seen can be judged; infinite when there is none, or it was judged already."""
    end = ended_at(board)
    left = end + _grace(board) - now if end is not None else inf
    return left if left > 0 else inf


def _slowest(board: Board) -> str | None:
    waiting = [state for state in behind(board) if state.stage is not Stage.DEAD]
    return waiting[0].host if waiting else board.nodes[0].host
