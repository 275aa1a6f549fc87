"""(Board, what a node says) -> Board. Frames of the on-host program, and the events of its log."""

from __future__ import annotations

import signal as signals
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from roles.watch import answers, milestones, processes
from roles.watch.board import Board
from roles.watch.conditions import settled
from roles.watch.events import Event
from roles.watch.line import Line
from roles.watch.states import NodeState

Frame = Mapping[str, Any]


def advance(board: Board, node: int, frame: Frame) -> Board:
    """The board after one frame. Log frames change nothing here: their lines come through `observe`."""
    at = float(frame.get("t") or board.latest)
    board = replace(board, latest=max(board.latest, at), started=at if board.started is None else board.started)
    if node not in board.nodes:
        return board
    fold = _FOLDS.get(frame["f"])
    return settled(fold(board, node, frame, at), at) if fold else board


def observe(board: Board, node: int, at: float, seen: Iterable[tuple[Line, Event | None]]) -> Board:
    """The board after lines of a node's log that came at `at`."""
    return milestones.told(board, node, at, seen)


def _hello(board: Board, node: int, frame: Frame, at: float) -> Board:
    """With `skew` (seconds the host's clock is ahead of the caller's) the log's own stamps can be believed."""
    if "skew" not in frame:
        return board
    return _with_node(board, node, utc_offset=frame.get("utc_offset"), skew=float(frame["skew"]))


def _exit(board: Board, node: int, frame: Frame, at: float) -> Board:
    code, signal = frame.get("code"), frame.get("signal")
    if isinstance(signal, str):
        signal = signals.Signals[signal].value if signal in signals.Signals.__members__ else None
    if signal is None and isinstance(code, int) and (code < 0 or 128 < code < 160):
        signal = -code if code < 0 else code - 128
    died = board.nodes[node].main_died
    changes = {"exit_code": code, "signal": signal, "main_alive": False, "main_died": at if died is None else died}
    return _with_node(board, node, exited=True, rebooted=bool(frame.get("rebooted")), **changes)


def _disk(board: Board, node: int, frame: Frame, at: float) -> Board:
    return _with_node(board, node, full=str(frame.get("path") or "its log") if frame.get("full") else "")


def _lost(board: Board, node: int, frame: Frame, at: float) -> Board:
    if not board.nodes[node].connected:
        return board
    return _with_node(board, node, connected=False, lost_at=at, why=str(frame.get("why") or ""))


def _connected(board: Board, node: int, frame: Frame, at: float) -> Board:
    return _with_node(board, node, connected=True, lost_at=None, why="", moved=at)


def _given(board: Board, node: int, frame: Frame, at: float) -> Board:
    return _with_node(board, node, given={key: frame.get(key) for key in ("argv", "environ", "secrets")})


def _with_node(board: Board, node: int, **changes: Any) -> Board:
    state: NodeState = replace(board.nodes[node], **changes)
    return replace(board, nodes={**board.nodes, node: state})


_FOLDS: dict[str, Callable[[Board, int, Frame, float], Board]] = {
    "hello": _hello,
    "procs": processes.processes,
    "gpus": processes.gpus,
    "port": answers.port,
    "http": answers.health,
    "settings": answers.settings,
    "generation": answers.generation,
    "exit": _exit,
    "disk": _disk,
    "given": _given,
    "lost_connection": _lost,
    "connected": _connected,
}
