"""A board -> everybody who may be to blame for its end. Which of them is: blame.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from roles.inventory.rank import Rank
from roles.watch.board import Board
from roles.watch.evidence import Block, Evidence
from roles.watch.failures import FAILURES, UNKNOWN, Weight

RECENT = 120.0  # seconds before the end of a run that was up, in which a line can still be its cause


@dataclass(frozen=True)
class Blame:
    """Who, where, what, and what to do. `sure`: nothing that comes a moment later can change it."""

    at: float
    node: int
    rank: Rank | None
    cause: str
    do: str
    lines: tuple[str, ...] = ()
    id: str = ""
    sure: bool = False
    known: bool = True


def said(board: Board, weight: Weight) -> Iterator[Blame]:
    """Lines that a row of this weight knows, the earliest first."""
    end = min((e.at for e in board.evidence if e.failure.ends), default=None)
    for evidence in sorted(board.evidence, key=lambda evidence: evidence.at):
        old = board.up_at is not None and end is not None and evidence.at < end - RECENT
        if evidence.weight == weight and not old and not _benign(board, evidence):
            yield of_line(board, evidence)


def unexplained(board: Board) -> Iterator[Blame]:
    """Exceptions that ended a scheduler or main and that no row knows."""
    for block in board.blocks:
        if block.exception and not block.benign and not _explained(board, block):
            warmup = block.lines[0].startswith("Initialization failed. warmup error")
            row = next(row for row in FAILURES if row.id == "warmup") if warmup else UNKNOWN
            cause = row.cause.format(text=block.exception, what=block.exception)
            yield Blame(block.at, block.node, block.rank, cause, row.do, block.lines, row.id, known=warmup)


def of_line(board: Board, evidence: Evidence) -> Blame:
    """The blame that one line puts on whoever printed it; with its block, when it stands in one."""
    lines = next((b.lines for b in board.blocks if _in(evidence, b)), (evidence.text.strip(),))
    row = evidence.failure
    sure = evidence.weight == "cause"
    return Blame(evidence.at, evidence.node, evidence.rank, evidence.cause, evidence.todo, lines, row.id, sure)


def _in(evidence: Evidence, block: Block) -> bool:
    return (block.node, block.serial) == (evidence.node, evidence.block)


def _benign(board: Board, evidence: Evidence) -> bool:
    return any(block.benign for block in board.blocks if _in(evidence, block))


def _explained(board: Board, block: Block) -> bool:
    return any(_in(e, block) and e.weight != "wrapper" for e in board.evidence)
