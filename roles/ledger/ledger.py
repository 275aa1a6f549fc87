"""Records of runs on this machine: `runs/<run id>/record.json`, the log of each node beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Record:
    """One run. Times are epoch seconds of this machine; `result` is loading, up, failed, lost, detached or stopped."""

    run: str
    deployment: str
    profile: str
    hosts: tuple[str, ...]
    by: str
    started: float
    result: str
    sentence: str = ""
    ended: float | None = None
    plan_hash: str = ""
    overrides: tuple[str, ...] = ()
    stages: Mapping[str, float] = field(default_factory=dict)  # stage -> seconds


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
        target = self.path(record.run) / "record.json"
        temporary = target.with_suffix(f".{os.getpid()}.tmp")
        with temporary.open("w") as file:
            json.dump(asdict(record), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)

    def close(self, run: str, result: str, sentence: str, now: float) -> None:
        """Note how a run ended; a run that this machine never recorded is left alone."""
        record = self.read(run)
        if record is not None:
            self.write(replace(record, result=result, sentence=sentence, ended=now))

    def close_all_on(self, hosts: Collection[str], sentence: str, now: float) -> None:
        """Note that the open deployments on these hosts, and on no other, have ended with the hosts."""
        for record in self.open_deployments():
            if set(record.hosts) <= set(hosts):
                self.close(record.run, "stopped", sentence, now)

    def read(self, run: str) -> Record | None:
        """One record, None when there is none or it cannot be read."""
        try:
            return _record(json.loads((self.folder / run / "record.json").read_text()))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def all(self) -> list[Record]:
        """Every record, oldest first (run ids begin with their time)."""
        names = sorted(path.parent.name for path in self.folder.glob("*/record.json"))
        return [record for name in names if (record := self.read(name)) is not None]

    def open_deployments(self) -> list[Record]:
        """The newest run of each deployment made from here that was not stopped or given up, oldest first."""
        newest = {record.deployment: record for record in self.all()}
        return sorted(
            (record for record in newest.values() if record.result not in ("stopped", "refused")),
            key=lambda record: record.run,
        )


def _record(found: dict[str, Any]) -> Record:
    found["hosts"], found["overrides"] = tuple(found["hosts"]), tuple(found.get("overrides") or ())
    return Record(**found)
