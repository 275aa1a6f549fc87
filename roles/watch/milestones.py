"""Lines of a node's log and their events -> board: milestones and progress by rank, and evidence of failures."""

from __future__ import annotations

import calendar
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from roles.inventory.rank import Rank
from roles.watch.board import Board
from roles.watch.conditions import settled
from roles.watch.events import Event
from roles.watch.evidence import KEPT
from roles.watch.line import Axes, Line
from roles.watch.seating import seated
from roles.watch.spellings import RANK_MILESTONES, Kind
from roles.watch.stages import restaged
from roles.watch.states import NodeState
from roles.watch.testimony import testified
from roles.watch.weigh import noted

LATE = 3.0  # seconds between a line's own stamp (whole seconds) and its arrival from which the stamp is believed more
LAST = 6  # lines of a node that are kept
STEADY = frozenset({Kind.PREFILL, Kind.DECODE, Kind.ACCESS, Kind.NOISE})
BARS = frozenset({Kind.SHARDS, Kind.CAPTURE})
_MILESTONES = frozenset(RANK_MILESTONES)


def told(board: Board, node: int, at: float, seen: Iterable[tuple[Line, Event | None]]) -> Board:
    """The board after lines that came from `node` at `at`. Of a bar that redraws itself the last state is folded."""
    if node not in board.nodes:
        return board
    seats: dict[Axes, Rank | None] = {}
    signs: dict[Rank | None, float] = {}
    bars: dict[Kind, Event] = {}
    last = deque(board.nodes[node].last, maxlen=LAST)
    for line, event in seen:
        if event is not None and event.kind in STEADY:
            board = noted(board, line) if event.kind is Kind.NOISE else board
            continue
        at_line = when(board.nodes[node], line, at)
        if line.axes not in seats:
            seats[line.axes] = seated(board, node, line.axes)
        rank = seats[line.axes] if line.axes or _by_a_rank(event) else None
        signs[rank] = at_line
        if rank is None and line.axes:
            board = _stranger(board, node, line)
        if line.source != "bar":
            last.append(line.text[:300])
        if event is None:
            continue
        if event.kind in BARS:
            bars[event.kind] = event
        elif event.kind in _MILESTONES or event.kind is Kind.READY:
            board = _drawn(board, node, bars)
            board = settled(restaged(_milestone(board, node, rank, at_line, event)), at_line)
        else:
            board = _milestone(board, node, rank, at_line, event)
    board = _moved(_drawn(board, node, bars), node, signs)
    return replace(board, nodes={**board.nodes, node: replace(board.nodes[node], last=tuple(last))})


def when(node: NodeState, line: Line, at: float) -> float:
    """The time of a line: when it came, but its own stamp when it came much later (a log read from its start)."""
    if line.time is None or node.utc_offset is None:
        return at
    try:
        local = calendar.timegm(time.strptime(line.time, "%Y-%m-%d %H:%M:%S"))
    except ValueError:
        return at
    own = local + (line.ms or 0) / 1000 - node.utc_offset - node.skew
    return own if at - own > LATE else at


def _milestone(board: Board, node: int, rank: Rank | None, at: float, event: Event) -> Board:
    if event.kind in _MILESTONES:
        return _reached(board, rank, event.kind, at) if rank is not None else board
    if event.line.block or event.failure:
        return testified(board, node, rank, at, event)
    return _main(board, node, at, event)


def _drawn(board: Board, node: int, bars: dict[Kind, Event]) -> Board:
    """The progress that the bars show; they are taken."""
    for kind, event in bars.items():
        progress = (int(event.numbers["done"]), int(event.numbers["total"]))
        if kind is Kind.SHARDS:
            board = replace(board, shards=progress)
            continue
        capturing = [state for state in board.ranks.values() if state.node == node and state.captures]
        board = replace(board, ranks={**board.ranks, **{s.rank: replace(s, progress=progress) for s in capturing}})
    bars.clear()
    return board


def _by_a_rank(event: Event | None) -> bool:
    """Lines that only ranks print: without axes they belong to the only rank of a 1x1 layout."""
    if event is None:
        return False
    return event.kind in _MILESTONES or event.line.text.startswith("Scheduler hit an exception")


def _stranger(board: Board, node: int, line: Line) -> Board:
    if line.axes[0][0] == "WORLD":
        return board
    label = " ".join(f"{axis}{place}" for axis, place in line.axes)
    state = board.nodes[node]
    if label in state.strangers or len(state.strangers) >= KEPT:
        return board
    return replace(board, nodes={**board.nodes, node: replace(state, strangers=state.strangers | {label})})


def _moved(board: Board, node: int, signs: dict[Rank | None, float]) -> Board:
    """The board with the last sign of progress of each rank, and of the node (None)."""
    if None in signs:
        board = replace(board, nodes={**board.nodes, node: replace(board.nodes[node], moved=signs[None])})
    ranks = {rank: replace(board.ranks[rank], moved=at) for rank, at in signs.items() if rank is not None}
    return replace(board, ranks={**board.ranks, **ranks}) if ranks else board


def _reached(board: Board, rank: Rank, kind: Kind, at: float) -> Board:
    state = board.ranks[rank]
    # a draft model goes through the same milestones again: first times stay, but the end of capturing is the last one
    first = kind if kind is Kind.CAPTURE_END or kind not in state.reached else None
    reached = {**state.reached, first: at} if first else state.reached
    captures = max(0, state.captures + {Kind.CAPTURE_BEGIN: 1, Kind.CAPTURE_END: -1}.get(kind, 0))
    progress = state.progress if kind is Kind.CAPTURE_BEGIN else None
    state = replace(state, milestone=kind.value, since=at, reached=reached, captures=captures, progress=progress)
    return replace(board, ranks={**board.ranks, rank: state})


def _main(board: Board, node: int, at: float, event: Event) -> Board:
    match event.kind:
        case Kind.READY if node == 0 and board.ready_at is None:
            return replace(board, ready_at=at)
        case Kind.BOUND if node == 0 and board.bound_at is None:
            return replace(board, bound_at=at, bound_port=_port(str(event.numbers.get("url", ""))))
        case Kind.DUMMY:
            return replace(board, nodes={**board.nodes, node: replace(board.nodes[node], dummy=at)})
    return board


def _port(url: str) -> int | None:
    """Of `http://0.0.0.0:30000`."""
    port = url.rstrip("/").rpartition(":")[2]
    return int(port) if port.isdigit() else None
