"""The conditions of *up*, each for itself: what is not true yet, by rank and host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from roles.watch.answers import ours
from roles.watch.board import Board
from roles.watch.settings import Setting, compare
from roles.watch.states import RankState, Stage


def missing(board: Board) -> list[str]:
    """Everything that is not true yet; empty means up, but for settings that differ."""
    return [*_ranks(board), *_node_0(board), *(_http(board) if board.http else ())]


def differences(board: Board) -> list[Setting]:
    """Settings that the server reports otherwise than they were asked; its port it says in the log."""
    port = [Setting("port", board.port, board.bound_port, "different")] if board.elsewhere else []
    if board.settings is None:
        return port
    told = [setting for setting in compare(board.expected, board.settings) if setting.outcome == "different"]
    return told or port


def settled(board: Board, at: float) -> Board:
    """Remember the first moment at which every condition held; what was said before it is no cause after it."""
    if board.up_at is not None or missing(board) or differences(board):
        return board
    return replace(board, up_at=at, evidence=(), blocks=())


def behind(board: Board) -> list[RankState]:
    """The ranks that have not printed their last milestone."""
    return [state for state in board.ranks.values() if state.stage is not Stage.READY]


def _ranks(board: Board) -> Iterator[str]:
    for state in board.ranks.values():
        where = f"{state.label} on {state.host}"
        if state.stage is Stage.DEAD:
            yield f"{where}: dead"
            continue
        if not board.quiet and state.stage is not Stage.READY:
            yield f"{where}: {board.last_milestone.value} (is at: {state.milestone or 'nothing yet'})"
        if board.http and not state.alive:
            yield f"{where}: its process (none with the title {state.title} seen)"
    for node in board.nodes.values():
        if board.http and node.main_alive is not True:
            yield f"main process on {node.host}"


def _node_0(board: Board) -> Iterator[str]:
    if board.ready_at is None and not board.quiet:
        yield f"ready line on {board.nodes[0].host}"


def _http(board: Board) -> Iterator[str]:
    host = board.nodes[0].host
    holder = board.nodes[0].holder
    if holder is None:
        yield f"port {board.port} on {host}: nobody listens yet"
    elif not ours(board):
        yield f"port {board.port} on {host}: held by pid {holder.get('pid')}, which is not of this run"
    if board.health is None:
        yield f"health on {host}: no answer yet"
    elif board.health.status != 200:
        yield f"health on {host}: {board.health.status or board.health.error or 'no answer'}"
    if board.settings is None:
        yield f"effective settings on {host}: not read yet"
    else:
        for setting in compare(board.expected, board.settings):
            if setting.outcome == "not reported":
                yield f"setting {setting.name} on {host}: the server does not report it"
    if board.generation is None:
        yield f"generation on {host}: none yet"
    elif board.generation.status != 200 or board.generation.error:
        yield f"generation on {host}: {board.generation.status or ''} {board.generation.error}".rstrip()
