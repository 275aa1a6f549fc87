"""Who is behind whom, and for how long nothing has moved."""

from __future__ import annotations

from collections.abc import Sequence

from roles.watch.board import Board
from roles.watch.conditions import behind
from roles.watch.spellings import RANK_MILESTONES
from roles.watch.states import RankState, Stage

WAITS_FOR = {
    Stage.WAITING: "Python's imports, or nothing was started",
    Stage.STARTING: "Python's imports",
    Stage.DISTRIBUTED: "a rank or node that has not come, a firewall, or GPUs that cannot reach each other",
    Stage.LOADING: "the disk or the network that the weights come from",
    Stage.LOADED: "another rank's weights",
    Stage.MEMORY: "memory, or the first compile of a kernel",
    Stage.CAPTURING: "the compile of kernels (is nvcc running?) or a stale lock of one",
}


def silent_for(board: Board, now: float) -> float:
    """Seconds since anything moved that still has to move: the ranks behind, their nodes, the weight files."""
    waiting = behind(board) or list(board.ranks.values())
    nodes = {state.node for state in waiting}
    signs = [state.moved for state in waiting] + [board.nodes[node].moved for node in nodes if node in board.nodes]
    last = max((sign for sign in (*signs, board.started) if sign is not None), default=now)
    return max(0.0, now - last)


def limit(board: Board, stall: float) -> float:
    """Seconds without any sign that are too many: those of the stage in which the slowest rank is, else `stall`."""
    waiting = behind(board)
    return board.stalls.get(_slowest(waiting)[0].stage.value, stall) if waiting else stall


def progress_sentence(board: Board, lacking: Sequence[str]) -> str:
    """How far it is, who is behind, by how much, and what that stage usually waits for."""
    waiting, stopped = behind(board), _stopped(board)
    if stopped:
        return f"loading: {_names(stopped)} is stopped by a signal; kill -CONT {stopped[0].pid} there wakes it"
    if waiting and not board.quiet:
        done = len(board.ranks) - len(waiting)
        head = f"loading: {done} of {len(board.ranks)} ranks have reached {board.last_milestone.value}"
        return f"{head}; {_who_is_where(board, waiting)}{_lag(board, waiting)}{_reason(waiting)}"
    return f"loading: waiting for {lacking[0]}" if lacking else "loading"


def stall_sentence(board: Board, now: float, lacking: Sequence[str]) -> str:
    """What reached what, who is silent, and what that usually waits for."""
    stopped = _stopped(board)
    if stopped:
        names = _names(stopped)
        return (
            f"{names}: stopped by a signal (state T, pid {stopped[0].pid}); kill -CONT wakes it. Not true: {lacking[0]}"
        )
    if board.up_at is not None:
        return f"was up, and now is not: {'; '.join(lacking)}"
    silence = _minutes(silent_for(board, now))
    waiting = behind(board)
    if not waiting:
        return (
            f"nothing has moved for {silence}: all ranks are ready, waiting for {lacking[0] if lacking else 'nothing'}"
        )
    return f"nothing has moved for {silence}: {_who_is_where(board, waiting)}{_reason(waiting)}"


def _lag(board: Board, waiting: Sequence[RankState]) -> str:
    """By how much: ` for 40 s, the first at memory pool`."""
    slowest, first = _slowest(waiting), max(board.ranks.values(), key=_distance)
    since = min((state.since for state in slowest if state.since is not None), default=None)
    parts = [f" for {_minutes(board.latest - since)}"] if since is not None and board.latest - since >= 1 else [""]
    parts += [f"the first at {first.milestone}"] if _distance(first) > _distance(slowest[0]) else []
    return ", ".join(parts)


def _reason(waiting: Sequence[RankState]) -> str:
    reason = WAITS_FOR.get(_slowest(waiting)[0].stage, "")
    return f"; this stage waits for {reason}" if reason else ""


def _stopped(board: Board) -> list[RankState]:
    return [state for state in board.ranks.values() if state.state in ("T", "t")]


def _who_is_where(board: Board, waiting: Sequence[RankState]) -> str:
    slowest = _slowest(waiting)
    at = slowest[0].milestone or "nothing yet"
    shards = board.shards if slowest[0].stage is Stage.LOADING else None
    part = f" ({shards[0]} of {shards[1]} shards)" if shards else ""
    letters = {state.state for state in slowest if state.state in ("D", "T", "t")}
    frozen = f", process state {'/'.join(sorted(letters))}" if letters else ""
    return f"{_names(slowest)} behind at: {at}{part}{frozen}"


def _slowest(waiting: Sequence[RankState]) -> list[RankState]:
    least = min(_distance(state) for state in waiting)
    return [state for state in waiting if _distance(state) == least]


def _distance(state: RankState) -> int:
    reached = [index for index, kind in enumerate(RANK_MILESTONES, 1) if kind in state.reached]
    return max(reached, default=0)


def _names(states: Sequence[RankState]) -> str:
    shown = ", ".join(f"{state.label} on {state.host}" for state in states[:4])
    return shown + (f" and {len(states) - 4} more" if len(states) > 4 else "")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
