"""A case -> a diagnosis: every rule's findings, and one word for the state. Nothing is asked or changed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from roles.watch import answering, endings, living, machine
from roles.watch.case import Case
from roles.watch.finding import Finding

State = Literal["up", "loading", "stalled", "failed", "lost", "foreign"]
Rule = Callable[[Case], Iterator[Finding]]

# In the order in which they are told: what explains stands before what follows from it.
RULES: tuple[Rule, ...] = (
    answering.unanswered,
    machine.out_of_memory,
    endings.ended,
    living.rank_gone,
    living.orphans,
    living.rank_stopped,
    living.frozen,
    answering.stranger,
    answering.nobody_listens,
    living.rank_waiting,
    answering.unhealthy,
    machine.full,
    machine.gpu_errors,
    living.compiling,
    living.silent,
    machine.tight,
    machine.held_memory,
)
STILL = frozenset({"stopped-process", "frozen", "waiting-process", "silent"})  # it lives and nothing moves
BROKEN = frozenset({"rank-gone", "orphans", "not-listening", "unhealthy"})


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with one server, most telling first; empty findings and `up`: nothing is."""

    case: Case
    state: State
    sentence: str
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """One object for programs."""
        told = self.case.explained
        return {
            "server": self.case.name,
            "ours": self.case.ours,
            "state": self.state,
            "sentence": self.sentence,
            "findings": [vars(finding) for finding in self.findings],
            "log": {"verdict": told.kind, "sentence": told.verdict.sentence, "version": list(told.releases)},
            "ranks": [
                {"rank": s.state.label, "host": s.host, "stage": s.state.stage.value, "pid": s.pid, "process": s.row}
                for s in self.case.ranks
            ],
            "nodes": [
                {"host": w.host, "node": w.node, **{key: value for key, value in w.told.items() if key != "ranks"}}
                for w in self.case.nodes
            ],
        }


def diagnose(case: Case) -> Diagnosis:
    """Hold the witnesses against each other."""
    findings = tuple(finding for rule in RULES for finding in rule(case))
    state = _state(case, {finding.id for finding in findings if finding.level == "bad"})
    first = next((finding.sentence for finding in findings if finding.level == "bad"), "")
    return Diagnosis(case, state, first or _well(case, state), findings)


def _state(case: Case, wrong: set[str]) -> State:
    ended: State = "lost" if case.was_up else "failed"
    if "foreign-port" in wrong:
        return "lost" if case.head.told.get("up") else "foreign"
    if not case.alive or wrong & BROKEN:
        return ended
    if wrong & STILL:
        return "lost" if case.was_up else "stalled"
    if case.silent and case.was_up:
        return "lost"
    return "up" if case.was_up and not (case.head.node == 0 and case.head.told.get("health") != 200) else "loading"


def _well(case: Case, state: State) -> str:
    if state != "up":
        return case.explained.verdict.sentence if case.explained.kind == "loading" else "loading"
    count = len(case.ranks)
    health = ", /health answers 200" if case.head.told.get("health") == 200 else ""
    return f"up: {count} rank{'s' if count != 1 else ''} alive{health}"
