"""A verdict, and a case of the same run -> the verdict with what the hosts say when they are asked closer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from roles.watch import living, machine
from roles.watch.board import Board
from roles.watch.case import Case
from roles.watch.conditions import behind
from roles.watch.finding import Finding, doing
from roles.watch.sentences import Verdict

# Ends that nobody's words explain: there the kernel may know more.
UNSAID = frozenset({"rank-died", "rank-gone", "main-killed", "exit"})
RULES = (living.rank_stopped, living.frozen, living.rank_waiting, living.compiling, machine.full, machine.gpu_errors)


def wants(verdict: Verdict) -> bool:
    """Whether a closer look could say more than this verdict."""
    return verdict.kind == "stalled" or verdict.id in UNSAID


def closer(verdict: Verdict, case: Case, board: Board) -> Verdict:
    """A stall with what the silent processes do; a silent death with the kernel's word for it, if it has one."""
    if verdict.kind == "stalled":
        return replace(verdict, witnesses=[*_silent(case, board), *_words(case)])
    kills = list(machine.out_of_memory(case))
    if kills:
        kill = kills[0]
        who = f"{verdict.rank} on {verdict.host}" if verdict.rank else f"main on {verdict.host}"
        sentence = f"{who} was killed by the kernel for lack of memory"
        witnesses = [found.sentence for found in kills[1:]]
        return replace(verdict, sentence=sentence, cause=kill.sentence, do=kill.do, witnesses=witnesses, id=kill.id)
    return replace(verdict, witnesses=[found.sentence for found in machine.gpu_errors(case)])


def _silent(case: Case, board: Board) -> Iterator[str]:
    """Of the ranks that are behind (of all, when none is): what the process of each does."""
    waited = {state.label for state in behind(board) or board.ranks.values()}
    for seen in case.ranks:
        if seen.state.label in waited:
            what = f"its process (pid {seen.pid}) {doing(seen.row)}" if seen.row else "it has no process"
            yield f"{seen.name}: {what}"


def _words(case: Case) -> Iterator[str]:
    found: Iterator[Finding] = (finding for rule in RULES for finding in rule(case))
    yield from (finding.sentence for finding in found)
