"""A board on which something has ended -> who is to blame, and for what. The earliest cause wins over its echoes.

Suspects, in order of what they are worth:
  1  a line known as a cause, an exception nobody knows, a scheduler that died without a word while main lived
  2  main, ended by a signal from outside
  3  a line that explains (a hint)
  4  the only ranks without a word, where all others complain of a peer that went away
  5  a complaint of a peer; an exit status; nothing
"""

from __future__ import annotations

import signal as signals
from collections.abc import Iterator
from dataclasses import dataclass

from roles.inventory.rank import Rank
from roles.watch.board import Board, NodeState, RankState, Stage
from roles.watch.evidence import Block, Evidence
from roles.watch.failures import UNKNOWN

LEAD = 1.0  # seconds by which a silent death may be seen later than the first cry of a rank that it broke
RECENT = 120.0  # seconds before the end of a run that was up, in which a line can still be its cause

OUTSIDE = (
    "the kernel (for lack of memory), a person or a job manager did it: "
    "look at dmesg -T and at the cgroup's memory.events"
)
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
    """Who, where, what, and what to do. `sure`: nothing that comes later within moments will change it."""

    at: float
    node: int
    rank: Rank | None
    cause: str
    do: str
    lines: tuple[str, ...] = ()
    id: str = ""
    sure: bool = False
    known: bool = True


def ended_at(board: Board) -> float | None:
    """When the run can no longer come up (or stay up): the first death or last word; None while all is well."""
    deaths = [state.died for state in board.ranks.values() if state.died is not None]
    exits = [node.main_died for node in board.nodes.values() if node.main_died is not None]
    words = [evidence.at for evidence in board.evidence if evidence.failure.ends]
    return min((*deaths, *exits, *words), default=None)


def blame(board: Board) -> Blame | None:
    """The guilty one of a run that has ended; None while nothing has."""
    if ended_at(board) is None:
        return None
    suspects = sorted((*_causes(board), *_silent(board)), key=lambda suspect: suspect.at)
    if suspects:
        return suspects[0]
    for less in (_main_killed, _hints, _speechless, _echoes, _exits):
        found = next(less(board), None)
        if found is not None:
            return found
    return None


def _causes(board: Board) -> Iterator[Blame]:
    for evidence in _recent(board):
        if evidence.failure.weight == "cause" and not _benign(board, evidence):
            yield _of_line(board, evidence, sure=True)
    for block in board.blocks:
        if block.exception and not block.benign and not _explained(board, block):
            cause = UNKNOWN.cause.format(text=block.exception)
            yield Blame(block.at, block.node, block.rank, cause, UNKNOWN.do, block.lines, UNKNOWN.id, known=False)


def _silent(board: Board) -> Iterator[Blame]:
    """Schedulers that died without a word of their own, while main of their node lived: ended from outside."""
    spoken = {block.rank for block in board.blocks if block.exception}
    for state in board.ranks.values():
        if state.died is None or state.orphaned or state.rank in spoken or board.stopping_at is not None:
            continue
        if _after_own_kill(board, state):
            continue
        number = _signal_of(board, state)
        by = f"killed by {signal_name(number)}, pid {state.pid}" if number else f"pid {state.pid}"
        doing = "while serving" if board.up_at is not None else DOING[state.died_in]
        do = (
            OUTSIDE
            if number in (None, signals.SIGKILL)
            else "a fault in native code: look for a core dump and dmesg -T"
        )
        yield Blame(state.died - LEAD, state.node, state.rank, f"died ({by}) {doing}", do, id="rank-died")


def _after_own_kill(board: Board, state: RankState) -> bool:
    """Whether main had begun to end its children before this one was seen dead."""
    words = ("sigquit", "self-kill", "arguments", "http-port-taken")
    return any(
        e.node == state.node and e.failure.id in words and state.died is not None and e.at < state.died - LEAD
        for e in board.evidence
    )


def _main_killed(board: Board) -> Iterator[Blame]:
    for node in _ended(board):
        if node.signal is None or any(e.node == node.node and e.failure.weight == "wrapper" for e in board.evidence):
            continue
        at = node.main_died or 0.0
        name = signal_name(node.signal)
        if board.stopping_at is not None or node.signal in (signals.SIGTERM, signals.SIGINT):
            yield Blame(at, node.node, None, f"was stopped by {name} from outside", "ask who stopped it", id="stopped")
        else:
            yield Blame(at, node.node, None, f"was killed by {name} from outside", OUTSIDE, id="main-killed")


def _hints(board: Board) -> Iterator[Blame]:
    for evidence in _recent(board):
        if evidence.failure.weight == "hint" and not _benign(board, evidence):
            yield _of_line(board, evidence)


def _speechless(board: Board) -> Iterator[Blame]:
    """Where the others complain of a peer, the rank that says nothing went first."""
    complaining = {e.rank for e in board.evidence if e.failure.weight == "echo" and e.rank is not None}
    quiet = [state for state in board.ranks.values() if state.rank not in complaining]
    if complaining and quiet:
        state = quiet[0]
        names = ", ".join(f"{s.label} on {s.host}" for s in quiet)
        cause = f"went away first: all ranks but {names} complain of a peer that is gone"
        at = min(e.at for e in board.evidence if e.failure.weight == "echo")
        yield Blame(at, state.node, state.rank, cause, OUTSIDE, id="rank-gone")


def _echoes(board: Board) -> Iterator[Blame]:
    for evidence in _recent(board):
        if evidence.failure.weight == "echo" and not _benign(board, evidence):
            yield _of_line(board, evidence)


def _exits(board: Board) -> Iterator[Blame]:
    for node in _ended(board):
        if board.stopping_at is not None:
            yield Blame(node.main_died or 0.0, node.node, None, "was stopped", "ask who stopped it", id="stopped")
            return
        status = f" with status {node.exit_code}" if node.exit_code is not None else ""
        cause = f"ended{status}, and its log does not say why"
        yield Blame(node.main_died or 0.0, node.node, None, cause, "read the whole log", id="exit", known=False)
    for evidence in board.evidence:
        if evidence.failure.ends:
            yield _of_line(board, evidence)


def _of_line(board: Board, evidence: Evidence, *, sure: bool = False) -> Blame:
    block = next((b for b in board.blocks if b.node == evidence.node and b.serial == evidence.block), None)
    lines = block.lines if block is not None else (evidence.text.strip(),)
    row = evidence.failure
    return Blame(evidence.at, evidence.node, evidence.rank, evidence.cause, evidence.todo, lines, row.id, sure)


def _recent(board: Board) -> list[Evidence]:
    end = ended_at(board) or 0.0
    return sorted((e for e in board.evidence if board.up_at is None or e.at > end - RECENT), key=lambda e: e.at)


def _benign(board: Board, evidence: Evidence) -> bool:
    blocks = (b for b in board.blocks if b.node == evidence.node and b.serial == evidence.block)
    return any(block.benign for block in blocks)


def _explained(board: Board, block: Block) -> bool:
    return any(
        e.block == block.serial and e.node == block.node and e.failure.id != "scheduler-exception"
        for e in board.evidence
    )


def _ended(board: Board) -> list[NodeState]:
    gone = [node for node in board.nodes.values() if node.main_died is not None]
    return sorted(gone, key=lambda node: node.main_died or 0.0)


def _signal_of(board: Board, state: RankState) -> int | None:
    """What ended a scheduler, as the kernel or main tells: main counts its schedulers in the order of the seats."""
    if state.signal:
        return state.signal
    here = [other.rank for other in board.ranks.values() if other.node == state.node]
    for evidence in board.evidence:
        code, index, pid = (evidence.numbers.get(name) for name in ("code", "index", "pid"))
        mine = pid == state.pid if pid is not None else index == here.index(state.rank)
        if evidence.node == state.node and mine and isinstance(code, float) and code < 0:
            return int(-code)
    return None


def signal_name(number: int) -> str:
    """SIGKILL for 9."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
