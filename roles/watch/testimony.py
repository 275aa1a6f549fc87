"""Lines of failures and tracebacks -> the evidence and the blocks of the board. Both are bounded."""

from __future__ import annotations

from dataclasses import replace

from roles.inventory.rank import Rank
from roles.watch.board import Board
from roles.watch.events import Event
from roles.watch.evidence import KEPT, Block, Evidence
from roles.watch.spellings import Kind


def testified(board: Board, node: int, rank: Rank | None, at: float, event: Event) -> Board:
    """The board with a line of a failure, or of a traceback, that `rank` (None: nobody named) printed at `at`."""
    if event.line.block:
        board, rank = _block(board, node, rank, at, event)
    if event.failure is None:
        return board
    if event.failure.id == "stopped" and board.stopping_at is None:
        board = replace(board, stopping_at=at)
    stage = board.ranks[rank].stage.value if rank is not None else ""
    line, plain = event.line, event.line.time is not None and not event.line.block
    found = Evidence(
        event.failure, event.numbers, node, rank, at, line.text[:1000], line.block, stage, line.number, plain
    )
    others = [e for e in board.evidence if e.key != found.key]
    repeated = len(others) < len(board.evidence)
    if board.up_at is None and (repeated or len(others) >= KEPT):
        return board  # while it loads the first word counts
    return replace(board, evidence=(*others[-KEPT + 1 :], found))


def _block(board: Board, node: int, rank: Rank | None, at: float, event: Event) -> tuple[Board, Rank | None]:
    """The board with this line in its block, and the rank whose block it is."""
    line, serial = event.line, event.line.block
    raised = event.kind is Kind.EXCEPTION or (event.kind is Kind.FAILURE and line.source == "traceback")
    for index, block in enumerate(board.blocks):
        if (block.node, block.serial) == (node, serial):
            longer = block.with_line(line.text, exception=raised)
            return replace(board, blocks=(*board.blocks[:index], longer, *board.blocks[index + 1 :])), block.rank
    own = line.source == "traceback"
    if len(board.blocks) >= KEPT and board.up_at is None:
        return board, rank
    block = Block(node, serial, rank, at, (line.text,), own=own)
    return replace(board, blocks=(*board.blocks[-KEPT + 1 :], block)), rank
