"""Which deployment is meant? Arguments, records here and the hosts' own word -> one run, or a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from roles.inventory import Host, Inventory
from roles.inventory.errors import AllranksError, InputError
from roles.ledger import Ledger, Record
from roles.remote import Remote, reach, warm
from roles.remote.connect import CONNECT_TIMEOUT
from roles.remote.fleet import PARALLEL
from roles.server import standing
from roles.server.standing import Standing

FAILED = ("failed", "foreign", "different", "lost")  # results after which what was left of a run has been stopped
Choose = Callable[[str, Sequence[str]], str | None]  # question, choices -> the choice; None: nobody to ask


class Hosts:
    """The hosts that a verb looks at, one connection each; more are added when a run turns out to span them."""

    def __init__(
        self,
        inventory: Inventory,
        hosts: Sequence[Host],
        *,
        accept_new: bool = False,
        parallel: int = PARALLEL,
        deadline: float | None = None,
    ) -> None:
        self._inventory, self._accept_new = inventory, accept_new
        self.parallel, self._patience = parallel, deadline or standing.PATIENCE
        self.remotes = {host.name: self._remote(host) for host in hosts}
        self.silent: dict[str, AllranksError] = {}

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        for remote in self.remotes.values():
            remote.close()

    def warm(self) -> Hosts:
        """Begin to connect, to no more hosts at once than when they are asked: see Remote.warm."""
        warm(list(self.remotes.values()), "status", self.parallel)
        return self

    def runs(self, *, health: bool = False, ended: bool = False) -> list[Standing]:
        """Every run on the hosts, whole: hosts that a run spans beyond the given ones are asked too."""
        asked: set[str] = set()
        found: list[tuple[str, standing.Summary]] = []
        while waiting := [remote for name, remote in self.remotes.items() if name not in asked]:
            asking = standing.ask(waiting, health=health, ended=ended, parallel=self.parallel, patience=self._patience)
            for outcome in asking:
                name = outcome.item.host.name
                asked.add(name)
                if isinstance(outcome.error, AllranksError):
                    self.silent[name] = outcome.error
                found += [(name, summary) for summary in outcome.value or []]
            for run in standing.gather(found, asked - self.silent.keys()):
                self._add(run.silent)
        return standing.gather(found, asked - self.silent.keys())

    def _remote(self, host: Host) -> Remote:
        return reach(host, accept_new=self._accept_new, timeout=min(CONNECT_TIMEOUT, self._patience))

    def _add(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.remotes and name not in self.silent:
                try:
                    self.remotes[name] = self._remote(self._inventory.host(name))
                except InputError as error:
                    self.silent[name] = error

    def node_hosts(self, run: Standing) -> list[tuple[int, Remote]]:
        """The run's nodes on hosts that answered, with their connections."""
        return [(node, self.remotes[host]) for node, (host, _) in sorted(run.nodes.items())]


def meant(
    inventory: Inventory, ledger: Ledger, host: str | None, name: str | None, choose: Choose, *, ended: bool = False
) -> tuple[list[Host], str | None]:
    """The hosts to look at and the deployment's name: those given, else those of the deployment made from here.

    `ended`: the last one will do even if it was stopped. Raises: InputError when nobody can be asked which is meant.
    """
    if host:
        return list(inventory.hosts(host)), name
    records = _from_here(ledger, name, ended=ended)
    if not records and name and "@" in name:
        return list(inventory.hosts(name.split("@", 1)[1])), name
    record = records[0] if records else None
    if len(records) > 1:
        chosen = choose("which deployment?", [record.deployment for record in records])
        if chosen is None:
            names = ", ".join(record.deployment for record in records)
            raise InputError(
                f"several deployments were made from here: {names}", do="name one: --name NAME or --host HOST"
            )
        record = next(record for record in records if record.deployment == chosen)
    if record is None:
        raise _none(ledger, name)
    return [inventory.host(known) for known in record.hosts], name or record.deployment


def all_meant(inventory: Inventory, ledger: Ledger, host: str | None, name: str | None) -> tuple[list[Host], list[str]]:
    """The hosts to look at and the deployments (or beginnings of run ids) to show; none: whatever runs there.

    Without arguments: all that was made from here. Raises: InputError when that is nothing.
    """
    if host:
        return list(inventory.hosts(host)), [name] if name else []
    records = _from_here(ledger, name)
    if not records and name and "@" in name:
        return list(inventory.hosts(name.split("@", 1)[1])), [name]
    if not records:
        raise _none(ledger, name)
    hosts = {known: inventory.host(known) for record in records for known in record.hosts}
    return list(hosts.values()), [name] if name else [record.deployment for record in records]


def _from_here(ledger: Ledger, name: str | None, *, ended: bool = False) -> list[Record]:
    """The newest run of each deployment made from here; without `ended` those that failed count only if all did."""
    records = ledger.open_deployments()
    if not ended:
        records = [record for record in records if record.result not in FAILED] or records
    elif not records:
        records = ledger.all()[-1:]
    return [r for r in records if not name or name == r.deployment or r.run.startswith(name)]


def _none(ledger: Ledger, name: str | None) -> InputError:
    what, do = (
        f"no deployment {name}" if name else "no deployment",
        "name one: --host HOST (inv status --all asks every host)",
    )
    last = next((r for r in ledger.newest_first() if not name or name == r.deployment or r.run.startswith(name)), None)
    if last is None:
        return InputError(f"{what} was made from here", do=do)
    how = (
        f"{last.result}: {last.sentence}".partition("\n")[0] if last.sentence not in ("", last.result) else last.result
    )
    sentence = f"nothing is left of {last.deployment}, the last that was made from here (run {last.run}, {how})"
    return InputError(sentence, do=f"inv history; or {do}")


def distinct(inventory: Inventory) -> list[Host]:
    """Every machine of the inventory once, also where several names mean the same one (`lab` is `lab1`)."""
    places = {(host.address, host.port, host.user, host.jump): host for host in inventory.by_name.values()}
    return list(places.values())


def one_run(runs: Sequence[Standing], name: str | None, choose: Choose, silent: Sequence[str] = ()) -> Standing:
    """The run that is meant: the newest of the deployment; a stopped one only when nothing runs.

    `name` is a deployment or the beginning of a run id.

    Raises: InputError when there is none, or several and nobody can be asked.
    """
    named = [run for run in runs if not name or name == run.deployment or run.run.startswith(name)]
    running = [run for run in named if not run.head.get("stopped")]
    newest = {run.deployment: run for run in running or named[-1:]}
    if not newest:
        known = ", ".join(run.deployment for run in runs) or "nothing of ours runs there"
        quiet = f"; no answer from {', '.join(silent)}" if silent else ""
        raise InputError(f"no such deployment{f' {name}' if name else ''} on these hosts ({known}{quiet})")
    if len(newest) == 1:
        return next(iter(newest.values()))
    chosen = choose("which deployment?", list(newest))
    if chosen is None:
        raise InputError(f"several deployments run there: {', '.join(newest)}", do="name one: --name NAME")
    return newest[chosen]
