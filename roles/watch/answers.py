"""What is heard on the port -> board. Nothing said there counts unless a process of this run holds the port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from roles.watch.board import Board
from roles.watch.states import Answer

Frame = Mapping[str, Any]


def ours(board: Board) -> bool:
    """Whether a process of this run listens on the HTTP port."""
    holder = board.nodes[0].holder if 0 in board.nodes else None
    return bool(holder and holder.get("ours"))


def port(board: Board, node: int, frame: Frame, at: float) -> Board:
    """Who listens. When that is no longer us, all that was answered there is forgotten."""
    holder = frame.get("holder")
    board = replace(board, nodes={**board.nodes, node: replace(board.nodes[node], holder=holder)})
    if node == 0 and not ours(board):
        return replace(board, health=None, generation=None, settings=None)
    return board


def health(board: Board, node: int, frame: Frame, at: float) -> Board:
    """/health of node 0; the other nodes' answer is SGLang's dummy, 200 whatever happens."""
    if node or not ours(board):
        return board
    return replace(board, health=_answer(frame, at))


def generation(board: Board, node: int, frame: Frame, at: float) -> Board:
    """One real generation."""
    if node or not ours(board):
        return board
    return replace(board, generation=_answer(frame, at))


def settings(board: Board, node: int, frame: Frame, at: float) -> Board:
    """The effective settings, and the release that reports them."""
    if node or not ours(board):
        return board
    version = frame.get("version")
    return replace(board, settings=frame.get("settings") or {}, version=str(version) if version else board.version)


def _answer(frame: Frame, at: float) -> Answer:
    text, error, seconds = frame.get("text"), frame.get("error"), frame.get("seconds")
    return Answer(frame.get("status"), at, str(text or ""), str(error or ""), seconds)
