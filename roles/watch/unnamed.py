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


def unnamed(board: Board, node: int, rows: Mapping[int, Frame], unseen: list[Rank]) -> dict[Rank, Frame | None]:
    """The ranks of `unseen` that have ended: a zombie has no title, but its place among main's children.

    None for one that main has buried already.
    """
    return _by_order(board, node, rows, unseen) or _alone(board, node, rows, unseen)


def _alone(board: Board, node: int, rows: Mapping[int, Frame], unseen: list[Rank]) -> dict[Rank, Frame | None]:
    """As many dead schedulers of main's own as ranks are unseen, and no living child that may take a seat yet."""
    main = board.nodes[node].main
    own = _title(rows.get(main or 0, {}))
    children = [row for row in rows.values() if row.get("ppid") == main != row["pid"]]
    coming = [r for r in children if _spawned(r, own) and title_axes(_title(r)) is None and r.get("state") not in DEAD]
    nameless = [row for row in children if _title(row) == NAMELESS and row.get("state") in DEAD]
    return dict(zip(unseen, nameless, strict=True)) if not coming and len(unseen) == len(nameless) else {}


def _by_order(board: Board, node: int, rows: Mapping[int, Frame], unseen: list[Rank]) -> dict[Rank, Frame | None]:
    """Main starts its schedulers in the order of the seats, and before anything else that it spawns."""
    main = board.nodes[node].main
    seats = [state.rank for state in board.ranks.values() if state.node == node]
    own = _title(rows.get(main or 0, {}))
    children = [row for row in sorted(rows.values(), key=_age) if row.get("ppid") == main and _spawned(row, own)]
    if not any(_is_spawned(row) for row in children):
        return {}  # while it imports, main runs small programs too: one that is not installed dies as a fork of main
    titled = [seated(board, node, axes) for row in children if (axes := title_axes(_title(row))) is not None]
    if any(rank not in seats for rank in titled) or titled != [rank for rank in seats if rank in titled]:
        return {}  # another release, another order: better no name than a wrong one
    if len(titled) == len(children):
        return dict.fromkeys(_buried(board, seats, titled, unseen))
    pairs = dict(zip(seats, children, strict=False))
    named = ((rank, title_axes(_title(row))) for rank, row in pairs.items())
    if any(axes is not None and seated(board, node, axes) != rank for rank, axes in named):
        return {}
    return {rank: row for rank, row in pairs.items() if rank in unseen and row.get("state") in DEAD}


def _buried(board: Board, seats: list[Rank], titled: list[Rank | None], unseen: list[Rank]) -> list[Rank]:
    """Seats before one that was there at the last look already, while nobody is left who could still take them."""
    known = [seats.index(rank) for rank in titled if rank is not None and board.ranks[rank].pid is not None]
    return [rank for rank in unseen if known and seats.index(rank) < max(known)]


def _age(row: Frame) -> tuple[int, int]:
    return int(row.get("start") or 0), int(row["pid"])


def _is_spawned(row: Frame) -> bool:
    """Whether it surely is one of those that main has spawned."""
    return SPAWNED in _title(row) or title_axes(_title(row)) is not None


def _spawned(row: Frame, main: str) -> bool:
    """A child that is a scheduler, or may become or have been one: forks have main's own title at first."""
    title = _title(row)
    nameless = title.startswith(("[py", "[pt_main", NAMELESS))
    return _is_spawned(row) or nameless or bool(main and title == main)


def _title(row: Frame) -> str:
    return str(row.get("title") or "")
