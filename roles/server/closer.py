"""A deploy that stalls, or a death without a word: the hosts are asked once more, closer."""

from __future__ import annotations

from collections.abc import Sequence

from roles.inventory.errors import AllranksError
from roles.remote import Remote, each
from roles.server.doctor import look
from roles.watch import Board, Verdict
from roles.watch.case import Case
from roles.watch.closer import closer, wants


def with_witnesses(verdict: Verdict, board: Board, remotes: Sequence[Remote], name: str, run: str) -> Verdict:
    """The verdict with the hosts' own word for it; as it is where they have none, or do not answer."""
    if not wants(verdict):
        return verdict
    outcomes = each(remotes, lambda remote: look(remote, run=run, quick=verdict.kind != "stalled"))
    nodes = tuple(witness for outcome in outcomes for witness in outcome.value or ())
    silent = {o.item.host.name: str(o.error) for o in outcomes if isinstance(o.error, AllranksError)}
    return closer(verdict, Case(name, nodes, silent), board) if nodes else verdict
