"""A board on which something has ended -> who is to blame, and for what. The earliest cause wins over its echoes.

In order of what they are worth:
  1  a line known as a cause, an exception nobody knows, a scheduler that died without a word while main lived:
     the earliest of these
  2  main, ended by a signal from outside
  3  a line that explains (a hint)
  4  main, when a scheduler finds its pipe broken; the ranks without a word, where the others complain of a peer
  5  a complaint of a peer; an exit status; a wrapper
"""

from __future__ import annotations

from roles.watch.board import Board
from roles.watch.deaths import exits, main_gone, main_killed, silent, speechless
from roles.watch.suspects import Blame, said, unexplained
from roles.watch.weigh import weighed


def ended_at(board: Board) -> float | None:
    """When the run could no longer come up, or stay up: the first death or last word; None while all is well."""
    deaths = [state.died for state in board.ranks.values() if state.died is not None]
    gone = [node.main_died for node in board.nodes.values() if node.main_died is not None]
    words = [evidence.at for evidence in board.evidence if evidence.failure.ends]
    uncaught = [block.at for block in board.blocks if block.fatal]
    return min((*deaths, *gone, *words, *uncaught), default=None)


def blame(board: Board) -> Blame | None:
    """The guilty one of a run that has ended; None while nothing has."""
    if ended_at(board) is None:
        return None
    first = sorted((*said(board, "cause"), *unexplained(board), *silent(board)), key=lambda suspect: suspect.at)
    hints, echoes = said(board, "hint"), said(board, "echo")
    less = (main_killed(board), hints, main_gone(board), speechless(board), echoes, exits(board))
    guilty = first[0] if first else next((suspect for suspects in less for suspect in suspects), None)
    return weighed(board, guilty) if guilty else None
