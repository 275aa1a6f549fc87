"""Processes that have ended -> suspects: what nobody's own words explain."""

from __future__ import annotations

import signal as signals
from collections.abc import Iterator

from roles.watch.board import Board
from roles.watch.evidence import Evidence
from roles.watch.states import NodeState, RankState, Stage
from roles.watch.suspects import Blame, of_line

LEAD = 1.0  # seconds by which a silent death may be seen later than the first cry of a rank that it broke

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
    crying = [e for e in board.evidence if e.weight == "echo" and e.rank is not None]
    quiet = [state for state in board.ranks.values() if state.rank not in {e.rank for e in crying}]
    if crying and quiet:
        names = ", ".join(f"{state.label} on {state.host}" for state in quiet)
        which = "went away first" if len(quiet) == 1 else f"or another one went away first (of {names})"
        cause = f"{which}: the others complain of a peer that is gone"
        yield Blame(min(e.at for e in crying), quiet[0].node, quiet[0].rank, cause, OUTSIDE, id="rank-gone")


def main_gone(board: Board) -> Iterator[Blame]:
    """A scheduler that could not report to main over its pipe: main had gone before, and said nothing."""
    for block in board.blocks:
        if block.exception.startswith("BrokenPipeError") and any("pipe_writer.send(" in line for line in block.lines):
            state = board.ranks.get(block.rank) if block.rank is not None else None
            who = state.label if state else "a scheduler"
            cause = f"was gone already when {who} wanted to report to it: it was ended from outside"
            yield Blame(block.at, block.node, None, cause, OUTSIDE, block.lines, id="main-gone")


def exits(board: Board) -> Iterator[Blame]:
    """Main with its exit status, then the wrappers: all that is left when nobody says why."""
    for node in ended(board):
        status = f" with status {node.exit_code}" if node.exit_code is not None else ""
        cause = f"ended{status}, and its log does not say why"
        yield Blame(node.main_died or 0.0, node.node, None, cause, "read the whole log", node.last, "exit", known=False)
    for evidence in board.evidence:
        if evidence.failure.ends:
            yield of_line(board, evidence)


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


def _stage(state: RankState) -> Stage:
    return state.died_in if state.died is not None else state.stage


def _after_own_kill(board: Board, state: RankState) -> bool:
    """Whether main had begun to end its children before this one was seen dead."""
    begun = (e.at for e in board.evidence if e.node == state.node and (e.failure.id == "self-kill" or _final(e)))
    return any(state.died is not None and at < state.died - LEAD for at in begun)


def _final(evidence: Evidence) -> bool:
    return evidence.failure.ends and evidence.weight == "cause"


def _signal_of(board: Board, state: RankState) -> tuple[int | None, float | None]:
    """What ended a scheduler and when main said so: it counts its schedulers in the order of the seats."""
    here = [other.rank for other in board.ranks.values() if other.node == state.node]
    for evidence in board.evidence:
        code, index, pid = (evidence.numbers.get(name) for name in ("code", "index", "pid"))
        mine = pid == state.pid if pid is not None and state.pid is not None else index == here.index(state.rank)
        if evidence.node == state.node and mine and isinstance(code, float) and code < 0:
            return int(-code), evidence.at
    return state.signal, None
