"""Records -> what they teach, deployment by deployment: how often it came up, how long that took, what it failed by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from roles.ledger.record import Record

UNNAMED = ("", "unknown")  # what the tables have no name for is the same only when it says the same


@dataclass(frozen=True)
class Cause:
    """One way in which runs ended that nobody asked for, with the newest of them."""

    id: str
    runs: int
    newest: Record


@dataclass(frozen=True)
class Lesson:
    """The runs of one deployment. `up_after`: seconds of each that came up, oldest first; `stages`: median seconds."""

    deployment: str
    runs: Sequence[Record]
    up_after: Sequence[float]
    stages: Mapping[str, float]
    causes: Sequence[Cause]

    @property
    def came_up(self) -> int:
        """How many runs were ever up."""
        return sum(record.came_up for record in self.runs)

    @property
    def median(self) -> float | None:
        """Seconds from the command until it was up."""
        return median(self.up_after) if self.up_after else None


def lessons(records: Iterable[Record]) -> list[Lesson]:
    """One lesson a deployment; the one with the newest run comes first. `records`: in any order."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.run):
        found[record.deployment].append(record)
    return [_lesson(name, runs) for name, runs in sorted(found.items(), key=lambda item: item[1][-1].run, reverse=True)]


def _lesson(name: str, runs: Sequence[Record]) -> Lesson:
    stages: dict[str, list[float]] = defaultdict(list)
    for record in runs:
        for stage, seconds in record.stages.items() if record.came_up else ():
            stages[stage].append(seconds)
    up_after = [record.up_after for record in runs if record.up_after is not None]
    return Lesson(name, runs, up_after, {stage: median(taken) for stage, taken in stages.items()}, _causes(runs))


def _causes(runs: Sequence[Record]) -> list[Cause]:
    """The commonest first; what was asked for (stopped, left loading) is no cause."""
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in runs:
        if record.result in ("failed", "lost", "foreign", "different", "stalled", "refused", "unreachable"):
            alike = "" if record.cause not in UNNAMED else record.sentence
            found[record.cause or record.result, alike].append(record)
    causes = [Cause(key, len(ended), ended[-1]) for (key, _), ended in found.items()]
    return sorted(causes, key=lambda cause: (-cause.runs, cause.id))
