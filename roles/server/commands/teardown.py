"""`inv teardown`: what it prints and ends with."""

from __future__ import annotations

from pathlib import Path

from roles.inventory.errors import AllranksError
from roles.ledger import Ledger
from roles.server.commands.find import Sought
from roles.server.commands.routers import leave_routers
from roles.server.teardown import teardown as take_down
from roles.view import report as words
from roles.view.console import console, print_json


def run(root: Path, sought: Sought, *, wait: float, json: bool, accept_new: bool) -> int:
    """Stop one deployment; 0 when nothing of it is left anywhere."""
    hosts, found = sought.hosts, sought.run()
    leave_routers(root, [found], accept_new=accept_new)
    with hosts, words.Stopping(quiet=json) as progress:
        done = take_down(hosts, found, Ledger(root), progress.say, wait=wait)
    if json:
        trouble = {where: str(error) for where, error in done.trouble.items()}
        print_json({"deployment": found.deployment, "run": found.run, "nodes": done.nodes, "trouble": trouble})
    try:
        done.raise_unless_clean()
    except AllranksError as error:
        if not json:
            raise
        return error.exit_code
    if not json:
        words.stopped(console(), found.deployment, done.nodes, done.seconds)
    return 0
