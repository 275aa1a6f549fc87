"""Schedulers that ended before they were seen with their title -> the ranks that they were to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roles.inventory.rank import Rank
from roles.watch.board import Board
from roles.watch.seating import seated, title_axes
from roles.watch.states import DEAD

Frame = Mapping[str, Any]
NAMELESS = "[sglang::schedul]"  # the kernel's name of a scheduler: 15 letters
SPAWNED = "multiprocessing.spawn"  # in the command line of a child that has not renamed itself yet


def unnamed(board: Board, node: int, rows: Mapping[int, Frame], unseen: list[Rank]) -> dict[Rank, Frame]:
    """The dead rows that are ranks of `unseen`: a zombie has no title, but its place among main's children."""
    found = _by_order(board, node, rows, unseen)
    nameless = [row for row in rows.values() if _title(row) == NAMELESS and row.get("state") in DEAD]
    if not found and len(unseen) == len(nameless):
        found = dict(zip(unseen, nameless, strict=True))
    return found


def _by_order(board: Board, node: int, rows: Mapping[int, Frame], unseen: list[Rank]) -> dict[Rank, Frame]:
    """Main starts its schedulers in the order of the seats, and before anything else that it spawns."""
    main = board.nodes[node].main
    seats = [state.rank for state in board.ranks.values() if state.node == node]
    own = _title(rows.get(main or 0, {}))
    children = [row for _, row in sorted(rows.items()) if row.get("ppid") == main and _spawned(row, own)]
    pairs = list(zip(seats, children, strict=False))
    for rank, row in pairs:
        axes = title_axes(_title(row))
        if axes is not None and seated(board, node, axes) != rank:
            return {}  # another release, another order: better no name than a wrong one
    return {rank: row for rank, row in pairs if rank in unseen and row.get("state") in DEAD}


def _spawned(row: Frame, main: str) -> bool:
    """A child that is a scheduler, or may become or have been one: forks have main's own title at first."""
    title = _title(row)
    gone = row.get("state") in DEAD and title.startswith(("[py", "[pt_main", NAMELESS))
    return title_axes(title) is not None or SPAWNED in title or gone or bool(main and title == main)


def _title(row: Frame) -> str:
    return str(row.get("title") or "")
