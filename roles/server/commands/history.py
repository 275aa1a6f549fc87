"""`inv history` and `inv report`: what they print and end with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from roles.inventory.errors import InputError
from roles.ledger import Ledger, Lesson, Record, lessons
from roles.server.remembered import Wanted, remembered
from roles.server.since import since_epoch
from roles.view import history as words
from roles.view.console import console, print_json


def wanted(
    host: str | None, profile: str | None, name: str | None, result: str | None, since: str | None, last: int
) -> Wanted:
    """The choice that these arguments mean. Raises: InputError."""
    return Wanted(host, profile, name, result, since_epoch(since, time.time()) if since else 0.0, last)


def run(root: Path, choice: Wanted, *, json: bool) -> int:
    """A line a run, newest first. Connects nowhere; ends with 0, also when there is none."""
    found = remembered(Ledger(root), choice)
    if json:
        print_json({"runs": [asdict(record) for record in found]})
    else:
        words.history(console(), found, time.time(), of_all=choice.all)
    return 0


def report(root: Path, choice: Wanted, *, json: bool) -> int:
    """What the runs teach; of one run, named by the beginning of its id, all that is known."""
    ledger = Ledger(root)
    found = remembered(ledger, choice)
    if choice.name and "@" not in choice.name:
        return _one(ledger, found, choice.name, json=json)
    learned = lessons(found)
    if json:
        print_json({"deployments": [_lesson(lesson) for lesson in learned]})
    else:
        words.report(console(), learned, of_all=choice.all)
    return 0


def _one(ledger: Ledger, found: Sequence[Record], name: str, *, json: bool) -> int:
    if len(found) != 1:
        several = f"begins {len(found)} ids: {', '.join(record.run for record in found[:5])}" if found else "is no run"
        raise InputError(f"{name} {several} in {ledger.folder}", do="inv history lists them")
    folder = ledger.path(found[0].run)
    files = sorted(path.name for path in folder.iterdir() if path.name != "record.json")
    if json:
        print_json({**asdict(found[0]), "folder": str(folder), "files": files})
    else:
        words.one(console(), found[0], folder, files)
    return 0


def _lesson(lesson: Lesson) -> dict[str, object]:
    return {
        "deployment": lesson.deployment,
        "runs": len(lesson.runs),
        "came_up": lesson.came_up,
        "seconds": {"median": lesson.median, "all": list(lesson.up_after)},
        "stages": dict(lesson.stages),
        "causes": [
            {
                "id": cause.id,
                "runs": cause.runs,
                "newest": cause.newest.run,
                "sentence": cause.newest.sentence,
                "do": cause.newest.do,
            }
            for cause in lesson.causes
        ],
    }
