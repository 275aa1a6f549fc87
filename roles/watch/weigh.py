"""Whom the words accuse -> who is meant: some messages name the wrong one, or a reason that is not the true one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from roles.watch.board import Board
from roles.watch.line import Line
from roles.watch.spellings import Kind
from roles.watch.states import RankState
from roles.watch.suspects import Blame

KEPT = 256  # failed imports that are remembered
_IMPORT = re.compile(r"Ignore import error when loading (?:\w+\.)*(\w+): (.*)")
_MODEL = re.compile(r"'(\w+?)(?:For\w+|Model)'")


def noted(board: Board, line: Line) -> Board:
    """The board with a model's module that could not be imported: harmless, unless just that model is asked for."""
    found = _IMPORT.match(line.text)
    if not found or found[1] in board.imports or len(board.imports) >= KEPT:
        return board
    return replace(board, imports={**board.imports, found[1]: found[2][:300]})


def weighed(board: Board, guilty: Blame) -> Blame:
    """The blame as it is, or put where it belongs."""
    weigh = _WEIGHED.get(guilty.id)
    return weigh(board, guilty) if weigh else guilty


def _unknown_model(board: Board, guilty: Blame) -> Blame:
    """SGLang calls a model unknown whose module it could not import: the reason stands in a warning far above."""
    asked = [_plain(name) for line in guilty.lines for name in _MODEL.findall(line)]
    fitting = [name for name in board.imports if any(each.startswith(_plain(name)) for each in asked)]
    if not fitting:
        return guilty
    module = max(fitting, key=len)
    cause = f"SGLang could not import its own module for this model ({module}): {board.imports[module]}"
    do = "see to what the import misses (a package, a compiler, a wheel for this machine): the model itself is known"
    line = f"Ignore import error when loading {module}: {board.imports[module]}"
    return replace(guilty, cause=cause, do=do, lines=(line, *guilty.lines), id="model-import")


def _late(board: Board, guilty: Blame) -> Blame:
    """The rank that is named has its weights; those that have not are meant."""
    late = [state for state in board.ranks.values() if Kind.WEIGHTS_END not in state.reached]
    if guilty.rank in {state.rank for state in late}:  # the log does not tell where the ranks are
        return guilty
    return _instead(guilty, late, "had not loaded its weights when the wait of the others was over")


def _silent(board: Board, guilty: Blame) -> Blame:
    """Whose watchdog barks was waiting for somebody: for a rank whose watchdog does not."""
    barking = {evidence.rank for evidence in board.evidence if evidence.failure.id == "watchdog"}
    quiet = [state for state in board.ranks.values() if state.rank not in barking] if guilty.rank is not None else []
    return _instead(guilty, quiet, f"says nothing, while others waited for it: {guilty.cause}")


def _instead(guilty: Blame, meant: Sequence[RankState], cause: str) -> Blame:
    if not meant or guilty.rank is None:
        return guilty
    others = f" (and so is {', '.join(f'{s.label} on {s.host}' for s in meant[1:4])})" if len(meant) > 1 else ""
    return replace(guilty, node=meant[0].node, rank=meant[0].rank, cause=f"{cause}{others}")


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


_WEIGHED: Mapping[str, Callable[[Board, Blame], Blame]] = {
    "architecture": _unknown_model,
    "other-ranks-slow": _late,
    "watchdog": _silent,
}
