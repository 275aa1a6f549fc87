"""A verdict and its board -> what is remembered of the run: fields of the ledger's Record."""

from __future__ import annotations

from typing import Any

from roles.watch import Board, Verdict, durations


def learned(verdict: Verdict, board: Board, began: float) -> dict[str, Any]:
    """How long it took, in which stages, where the memory went; or by what it ended. `began`: epoch seconds."""
    up = verdict.kind == "up" and board.up_at is not None
    return {
        "version": board.version,
        "stages": {stage.name: round(stage.seconds, 2) for stage in durations(board)},
        "memory_mib": {state.label: state.memory_mib for state in board.ranks.values() if state.memory_mib is not None},
        **({"up_after": round((board.up_at or began) - began, 2)} if up else blamed(verdict)),
    }


def blamed(verdict: Verdict) -> dict[str, Any]:
    """By what a run ended, and on which rank and host."""
    return {"cause": verdict.id or verdict.cause, "rank": verdict.rank, "host": verdict.host, "do": verdict.do}
