"""Records of runs on this machine: `runs/<run id>/record.json`, scripts and logs of each node beside it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from roles.ledger.record import ENDED_WELL, NEVER_BEGAN, Record, from_json
from roles.ledger.whole import write_whole


class Ledger:
    """The folder `runs/` of a checkout."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "runs"

    def path(self, run: str) -> Path:
        """The folder of one run, made when first asked for."""
        folder = self.folder / run
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write(self, record: Record) -> None:
        """Put a record in place of the one before it."""
        self.keep(record.run, "record.json", json.dumps(asdict(record), indent=1))

    def keep(self, run: str, name: str, text: str) -> None:
        """Put a file into a run's folder, whole or not at all."""
        write_whole(self.path(run) / name, text)

    def close(self, run: str, result: str, sentence: str, now: float, **learned: Any) -> None:
        """Note how a run went, and what was learned: other fields of Record.

        A run that this machine never recorded is left alone.
        """
        record = self.read(run)
        if record is not None:
            self.write(replace(record, result=result, sentence=sentence, ended=now, **learned))

    def stop(self, run: str, sentence: str, now: float) -> None:
        """Note that nothing of a run is left; what is known of one that failed before is kept."""
        record = self.read(run)
        if record is None:
            return
        if record.result in ENDED_WELL:
            record = replace(record, result="stopped", sentence=sentence, ended=now)
        self.write(replace(record, stopped=now))

    def stop_all_on(self, hosts: Collection[str], sentence: str, now: float) -> None:
        """Note that the open deployments on these hosts, and on no other, have ended with the hosts."""
        for record in self.open_deployments():
            if set(record.hosts) <= set(hosts):
                self.stop(record.run, sentence, now)

    def read(self, run: str) -> Record | None:
        """One record, None when there is none or it cannot be read."""
        try:
            return from_json(json.loads((self.folder / run / "record.json").read_bytes()))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def newest_first(self) -> Iterator[Record]:
        """Every record, read as it is asked for (run ids begin with their time)."""
        try:
            names = sorted((entry.name for entry in self.folder.iterdir()), reverse=True)
        except OSError:
            return
        yield from (record for name in names if (record := self.read(name)) is not None)

    def all(self) -> list[Record]:
        """Every record, oldest first."""
        return [*self.newest_first()][::-1]

    def open_deployments(self) -> list[Record]:
        """The newest run of each deployment made from here, where it was not stopped; oldest first.

        One that never began (refused, unreachable) hides none that was there before it.
        """
        newest = {record.deployment: record for record in self.all() if record.result not in NEVER_BEGAN}
        return sorted((record for record in newest.values() if record.open), key=lambda record: record.run)
