"""One run as it is remembered: a frozen value, to and from the JSON of `record.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

RESULTS = (
    *("up", "stopped", "failed", "lost", "foreign", "different", "stalled"),
    *("refused", "unreachable", "loading", "detached"),
)
NEVER_BEGAN = ("refused", "unreachable")
ENDED_WELL = ("loading", "up", "detached")  # what a stop on request turns into `stopped`; a failure stays one


@dataclass(frozen=True)
class Record:
    """One run. Times are epoch seconds of this machine.

    `result`: a word of docs/history.md. `ended`: when that was known. `stopped`: when nothing of it was left on its
    hosts. `up_after`: seconds from the command until it was up. `cause`: the row of docs/log.md that it ended by, or
    a word like rank-died. `stages`: seconds of each stage's slowest rank. `memory_mib`: rank -> MiB when it was up.
    """

    run: str
    deployment: str
    profile: str
    hosts: tuple[str, ...]
    by: str
    started: float
    result: str
    sentence: str = ""
    ended: float | None = None
    stopped: float | None = None
    plan_hash: str = ""
    overrides: tuple[str, ...] = ()
    up_after: float | None = None
    cause: str = ""
    rank: str | None = None
    host: str | None = None
    do: str = ""
    version: str | None = None  # of SGLang
    stages: Mapping[str, float] = field(default_factory=dict)
    memory_mib: Mapping[str, int] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether something of it may still be on its hosts."""
        return self.stopped is None and self.result not in ("stopped", *NEVER_BEGAN)

    @property
    def came_up(self) -> bool:
        """Whether it was ever up, whatever became of it."""
        return self.up_after is not None or self.result in ("up", "lost")


def from_json(found: Mapping[str, Any]) -> Record:
    """A record as it was written, by this allranks or another. Raises: KeyError, TypeError when it is none."""
    known = {name: found[name] for name in (entry.name for entry in fields(Record)) if name in found}
    return Record(**{**known, "hosts": tuple(found["hosts"]), "overrides": tuple(found.get("overrides") or ())})
