"""Axes as a line or a process title names them -> the seat they mean, if they mean exactly one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from roles.inventory.rank import Rank
from roles.watch.board import Board
from roles.watch.line import Axes, axes_of
from roles.watch.states import RankState

_SCHEDULER = re.compile(r"sglang::scheduler((?:_[A-Z_]+\d+)*)")


def title_axes(title: str) -> Axes | None:
    """The axes in a scheduler's process title; None for any other process."""
    found = _SCHEDULER.match(title)
    return axes_of(found[1]) if found else None


def seated(board: Board, node: int, axes: Axes) -> Rank | None:
    """The rank that these axes name on this node.

    Axes that both sides have must agree. Under attention DP the log has a DP number that a seat may not have, and the
    other way round; so the DP axis is dropped when nothing fits with it.
    """
    named = _from_world(board, dict(axes))
    here = [state for state in board.ranks.values() if state.node == node]
    if not named:
        return here[0].rank if len(board.ranks) == 1 and here else None
    without_dp = {axis: place for axis, place in named.items() if axis != "DP"}
    for wanted in (named, without_dp):
        fitting = [state for state in here if wanted and _agree(_places(state), wanted)]
        if len(fitting) == 1:
            return fitting[0].rank
        exact = [s for s in fitting if all(wanted.get(axis, 0) == place for axis, place in _places(s).items())]
        if len(exact) == 1:
            return exact[0].rank
    return None


def _from_world(board: Board, named: dict[str, int]) -> dict[str, int]:
    """torch counts ranks over the whole world: [rankN] is N = PP * tp_size + TP, once per replica of a plain DP."""
    world = named.pop("WORLD", None)
    if world is None or len(board.ranks) > board.sizes["TP"] * board.sizes["PP"]:
        return named
    return {"PP": world // board.sizes["TP"], "TP": world % board.sizes["TP"]}


def _places(state: RankState) -> dict[str, int]:
    titled = dict(title_axes(state.title) or ())
    return {"PP": state.rank.pp, "TP": state.rank.tp, "DP": state.rank.dp} | titled


def _agree(seat: Mapping[str, int], named: Mapping[str, int]) -> bool:
    return all(seat[axis] == place for axis, place in named.items() if axis in seat)
