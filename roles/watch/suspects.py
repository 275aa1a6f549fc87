"""A board -> everybody who may be to blame for its end. Which of them is: blame.py."""

from __future__ import annotations

import signal as signals
from collections.abc import Iterator
from dataclasses import dataclass

from roles.inventory.rank import Rank
from roles.watch.board import Board, NodeState, RankState, Stage
from roles.watch.evidence import Block, Evidence
from roles.watch.failures import UNKNOWN, Weight

LEAD = 1.0  # seconds by which a silent death may be seen later than the first cry of a rank that it broke
RECENT = 120.0  # seconds before the end of a run that was up, in which a line can still be its cause

OUTSIDE = (
    "the kernel (for lack of memory), a person or a job manager did it: "
    "look at dmesg -T and at the cgroup's memory.events"
)
NATIVE = "a fault in native code: look for a core dump and at dmesg -T"
DOING = {
    Stage.WAITING: "before it said anything",
    Stage.STARTING: "while starting",
    Stage.DISTRIBUTED: "while meeting the other ranks",
    Stage.LOADING: "while loading weights",
    Stage.LOADED: "after loading its weights",
    Stage.MEMORY: "while setting up memory",
    Stage.CAPTURING: "while capturing graphs",
    Stage.READY: "after its last milestone",
    Stage.DEAD: "at its end",
}


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
        if evidence.failure.weight == weight and not old and not _benign(board, evidence):
            yield of_line(board, evidence)


def unexplained(board: Board) -> Iterator[Blame]:
    """Exceptions that ended a scheduler or main and that no row knows."""
    for block in board.blocks:
        if block.exception and not block.benign and not _explained(board, block):
            cause = UNKNOWN.cause.format(text=block.exception)
            yield Blame(block.at, block.node, block.rank, cause, UNKNOWN.do, block.lines, UNKNOWN.id, known=False)


def silent(board: Board) -> Iterator[Blame]:
    """Schedulers that died without a word of their own, while main of their node lived: ended from outside."""
    spoken = {block.rank for block in board.blocks if block.exception}
    for state in board.ranks.values():
        if state.rank in spoken or board.stopping_at is not None:
            continue
        number, told_at = _signal_of(board, state)
        seen = state.died is not None and not state.orphaned and not _after_own_kill(board, state)
        at = state.died if seen else told_at
        if at is None:
            continue
        words = [f"killed by {signal_name(number)}"] if number else []
        words += [f"pid {state.pid}"] if state.pid is not None else []
        doing = "while serving" if board.up_at is not None else DOING[_stage(state)]
        cause = f"died ({', '.join(words)}) {doing}" if words else f"died {doing}"
        do = OUTSIDE if number in (None, signals.SIGKILL) else NATIVE
        yield Blame(at - LEAD, state.node, state.rank, cause, do, id="rank-died")


def main_killed(board: Board) -> Iterator[Blame]:
    """Main, ended by a signal that it did not send to itself."""
    for node in ended(board):
        if node.signal is None or (node.signal == signals.SIGKILL and _killed_itself(board, node)):
            continue
        at, name = node.main_died or 0.0, signal_name(node.signal)
        if node.signal in (signals.SIGTERM, signals.SIGINT):
            yield Blame(at, node.node, None, f"was stopped by {name} from outside", "ask who stopped it", id="stopped")
        else:
            yield Blame(at, node.node, None, f"was killed by {name} from outside", OUTSIDE, id="main-killed")


def speechless(board: Board) -> Iterator[Blame]:
    """Where the others complain of a peer, one of those that say nothing went first."""
    crying = [e for e in board.evidence if e.failure.weight == "echo" and e.rank is not None]
    quiet = [state for state in board.ranks.values() if state.rank not in {e.rank for e in crying}]
    if crying and quiet:
        names = ", ".join(f"{state.label} on {state.host}" for state in quiet)
        which = "went away first" if len(quiet) == 1 else f"or another one went away first (of {names})"
        cause = f"{which}: the others complain of a peer that is gone"
        yield Blame(min(e.at for e in crying), quiet[0].node, quiet[0].rank, cause, OUTSIDE, id="rank-gone")


def exits(board: Board) -> Iterator[Blame]:
    """Main with its exit status, then the wrappers: all that is left when nobody says why."""
    for node in ended(board):
        status = f" with status {node.exit_code}" if node.exit_code is not None else ""
        cause = f"ended{status}, and its log does not say why"
        yield Blame(node.main_died or 0.0, node.node, None, cause, "read the whole log", id="exit", known=False)
    for evidence in board.evidence:
        if evidence.failure.ends:
            yield of_line(board, evidence)


def of_line(board: Board, evidence: Evidence) -> Blame:
    """The blame that one line puts on whoever printed it; with its block, when it stands in one."""
    lines = next((b.lines for b in board.blocks if _in(evidence, b)), (evidence.text.strip(),))
    row = evidence.failure
    sure = row.weight == "cause"
    return Blame(evidence.at, evidence.node, evidence.rank, evidence.cause, evidence.todo, lines, row.id, sure)


def ended(board: Board) -> list[NodeState]:
    """Nodes whose main is gone, the first one first."""
    gone = [node for node in board.nodes.values() if node.main_died is not None]
    return sorted(gone, key=lambda node: node.main_died or 0.0)


def signal_name(number: int) -> str:
    """SIGKILL for 9."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _killed_itself(board: Board, node: NodeState) -> bool:
    return any(e.node == node.node and e.failure.id in ("sigquit", "self-kill") for e in board.evidence)


def _in(evidence: Evidence, block: Block) -> bool:
    return (block.node, block.serial) == (evidence.node, evidence.block)


def _benign(board: Board, evidence: Evidence) -> bool:
    return any(block.benign for block in board.blocks if _in(evidence, block))


def _explained(board: Board, block: Block) -> bool:
    return any(_in(e, block) and e.failure.id != "scheduler-exception" for e in board.evidence)


def _stage(state: RankState) -> Stage:
    return state.died_in if state.died is not None else state.stage


def _after_own_kill(board: Board, state: RankState) -> bool:
    """Whether main had begun to end its children before this one was seen dead."""
    begun = (e.at for e in board.evidence if e.node == state.node and (e.failure.id == "self-kill" or _final(e)))
    return any(state.died is not None and at < state.died - LEAD for at in begun)


def _final(evidence: Evidence) -> bool:
    return evidence.failure.ends and evidence.failure.weight == "cause"


def _signal_of(board: Board, state: RankState) -> tuple[int | None, float | None]:
    """What ended a scheduler and when main said so: it counts its schedulers in the order of the seats."""
    here = [other.rank for other in board.ranks.values() if other.node == state.node]
    for evidence in board.evidence:
        code, index, pid = (evidence.numbers.get(name) for name in ("code", "index", "pid"))
        mine = pid == state.pid if pid is not None and state.pid is not None else index == here.index(state.rank)
        if evidence.node == state.node and mine and isinstance(code, float) and code < 0:
            return int(-code), evidence.at
    return state.signal, None
