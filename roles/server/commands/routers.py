"""The routers made from this checkout: a replica leaves them before it is replaced or taken down."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from roles.inventory import load
from roles.ledger import Ledger
from roles.plan.router import PROFILE
from roles.server.router import Routers, url_of_run
from roles.server.standing import Standing


def routers_of(root: Path, *, accept_new: bool, but: Sequence[str] = ()) -> Routers | None:
    """Those that stand, without the runs `but`; None when none was made from here."""
    ledger = Ledger(root)
    if not any(record.profile == PROFILE for record in ledger.open_deployments()):
        return None
    return Routers(load(root), ledger, accept_new=accept_new, but=but)


def leave_routers(root: Path, runs: Sequence[Standing], *, accept_new: bool) -> None:
    """Take these runs' servers out of every router that has them; a router among `runs` goes anyway.

    Raises: Unreachable when a router cannot be asked: it may still send requests there.
    """
    routers = routers_of(root, accept_new=accept_new, but=[run.run for run in runs])
    if routers is None:
        return
    inventory = load(root)
    for run in runs:
        if url := url_of_run(run, inventory):
            routers.leave(url, lambda text: print(text, file=sys.stderr))
