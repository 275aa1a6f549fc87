"""The arguments of a command -> a connection to each host that is meant, begun at once, and then the runs there.

It is light: a command's other modules are imported while the hosts are connected to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roles.inventory import Host, Inventory, load
from roles.ledger import Ledger
from roles.server.standing import Standing
from roles.server.target import Hosts, all_meant, distinct, meant, one_run


@dataclass(frozen=True)
class Sought:
    """One run is meant, on these hosts (to be closed by whoever asks for it). `ended`: a stopped one will do."""

    hosts: Hosts
    name: str | None
    ended: bool

    def run(self) -> Standing:
        """The one run that is meant. Raises: InputError; Unreachable when no host answers."""
        try:
            runs = self.hosts.runs(ended=self.ended)
            if not runs and self.hosts.silent:
                raise next(iter(self.hosts.silent.values()))
            return one_run(runs, self.name, choose, list(self.hosts.silent))
        except BaseException:
            self.hosts.__exit__()
            raise


@dataclass(frozen=True)
class Surveyed:
    """Whatever runs on these hosts is meant; with `names` only these deployments, or runs by their beginning."""

    inventory: Inventory
    hosts: Hosts
    looked_at: Sequence[Host]
    names: Sequence[str]


def choose(question: str, choices: Sequence[str]) -> str | None:
    """Ask the person who sits there; None when nobody does."""
    from roles.view import console

    return console.choose(question, choices)


def seek(root: Path, host: str | None, name: str | None, *, accept_new: bool, ended: bool = False) -> Sought:
    """Begin to look for one run. Raises: InputError."""
    inventory = load(root)
    looked_at, name = meant(inventory, Ledger(root), host, name, choose, ended=ended)
    return Sought(Hosts(inventory, looked_at, accept_new=accept_new).warm(), name, ended)


def survey(
    root: Path,
    host: str | None,
    name: str | None,
    *,
    every: bool,
    parallel: int,
    deadline: float,
    accept_new: bool,
) -> Surveyed:
    """Begin to look at all that runs; `every`: on all hosts of the inventory. Raises: InputError."""
    inventory = load(root)
    looked_at, names = (distinct(inventory), []) if every else all_meant(inventory, Ledger(root), host, name)
    hosts = Hosts(inventory, looked_at, accept_new=accept_new, parallel=parallel, deadline=deadline or None)
    return Surveyed(inventory, hosts.warm(), looked_at, names)
