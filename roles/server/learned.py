"""A run's beginning, and its verdict and board -> what the ledger remembers of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roles.ledger import Ledger, Record
from roles.server.run import Run
from roles.watch import Board, Verdict, durations


def remember(ledger: Ledger, run: Run, overrides: Sequence[str]) -> None:
    """Write down that a run begins, and what its hosts are told to run."""
    plan = run.plan
    for node in plan.nodes:
        ledger.keep(run.id, f"node{node.node}.launch.sh", node.script)
    ledger.write(
        Record(
            run=run.id,
            deployment=plan.name,
            profile=plan.profile.name,
            hosts=tuple(node.host.name for node in plan.nodes),
            by=run.by,
            started=run.started,
            result="loading",
            plan_hash=plan.hash,
            overrides=tuple(overrides),
        )
    )


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
