"""`inv doctor`: what it prints and ends with."""

from __future__ import annotations

from pathlib import Path

from roles.inventory import load
from roles.inventory.errors import Lost, NeverUp, NotYet, Unreachable
from roles.ledger import Ledger
from roles.remote import begin
from roles.server.commands.find import choose
from roles.server.target import meant

EXIT_CODES = {
    "up": 0,
    "failed": NeverUp.exit_code,
    "foreign": NeverUp.exit_code,
    "lost": Lost.exit_code,
    "loading": NotYet.exit_code,
    "stalled": NotYet.exit_code,
}


def run(root: Path, host: str | None, name: str | None, *, json: bool, accept_new: bool) -> int:
    """Examine a deployment, or whatever runs on the hosts; ends with the worst state's code. Nothing is changed."""
    inventory = load(root)
    looked_at, name = meant(inventory, Ledger(root), host, name, choose)
    begin(looked_at, "look", accept_new=accept_new)
    from roles.server.doctor import examine  # while they are connected to
    from roles.view.console import console, print_json
    from roles.view.doctor import render
    from roles.watch.doctor import diagnose

    names = [host.name for host in looked_at]
    rounds = examine(inventory, names, accept_new=accept_new, foreign=host is not None)
    told = [diagnose(case) for case in rounds.cases(name)]
    silent = {host: str(error) for host, error in rounds.silent.items()}
    if json:
        print_json({"servers": [each.as_json() for each in told], "silent": silent})
    else:
        render(console(), told, silent, names)
    worst = max((EXIT_CODES[each.state] for each in told), default=0)
    return worst or (Unreachable.exit_code if silent else 0)
