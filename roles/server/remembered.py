"""Which of the ledger's runs are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from roles.inventory.errors import InputError
from roles.inventory.nearest import did_you_mean, listed
from roles.ledger import RESULTS, Ledger, Record


@dataclass(frozen=True)
class Wanted:
    """A choice of runs; what is None does not matter. `host`: names, parted by commas, of which one is enough.

    `name`: a deployment, or the beginning of a run's id. `since`: epoch seconds. `last`: at most so many (0: all).
    """

    host: str | None = None
    profile: str | None = None
    name: str | None = None
    result: str | None = None
    since: float = 0.0
    last: int = 0

    @property
    def all(self) -> bool:
        """Whether it is no choice at all."""
        return self == Wanted(last=self.last)

    def holds(self, record: Record) -> bool:
        """Whether a record is one of these, however many there are."""
        return (
            (not self.host or not {*self.host.split(",")}.isdisjoint(record.hosts))
            and (not self.profile or record.profile == self.profile)
            and (not self.name or record.deployment == self.name or record.run.startswith(self.name))
            and (not self.result or record.result == self.result)
            and record.started >= self.since
        )


def remembered(ledger: Ledger, wanted: Wanted) -> list[Record]:
    """The runs that are asked for, newest first; no more are read than are needed."""
    if wanted.last < 0:
        raise InputError(f"--last {wanted.last}: less than none", do="write how many runs, 0 for all")
    if wanted.result and wanted.result not in RESULTS:
        what = f"--result {wanted.result}: no run ends so{did_you_mean(wanted.result, RESULTS)}"
        raise InputError(what, do=f"known: {listed(RESULTS)}")
    return list(islice(filter(wanted.holds, ledger.newest_first()), wanted.last or None))
