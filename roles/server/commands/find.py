"""The arguments of a command -> the one run that is meant, and a connection to each of its hosts."""

from __future__ import annotations

from pathlib import Path

from roles.inventory import load
from roles.ledger import Ledger
from roles.server.standing import Standing
from roles.server.target import Hosts, meant, one_run
from roles.view.console import choose


def find(
    root: Path, host: str | None, name: str | None, *, accept_new: bool, ended: bool = False
) -> tuple[Hosts, Standing]:
    """The one run that is meant, and its hosts (to be closed by the caller)."""
    inventory, ledger = load(root), Ledger(root)
    looked_at, name = meant(inventory, ledger, host, name, choose, ended=ended)
    hosts = Hosts(inventory, looked_at, accept_new=accept_new)
    try:
        runs = hosts.runs(ended=ended)
        if not runs and hosts.silent:
            raise next(iter(hosts.silent.values()))
        return hosts, one_run(runs, name, choose, list(hosts.silent))
    except BaseException:
        hosts.__exit__()
        raise
