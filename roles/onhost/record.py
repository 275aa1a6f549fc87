"""A run's processes -> ranks.json: which process is which rank, and which died first.

SGLang kills the other ranks when one dies, so afterwards only what was written down early can name the guilty one.
"""

from __future__ import annotations

import re
import time

from .session import Session
from .state import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional

    from .state import Json

# main's own words for a child that ended, with its pid (0.5.10.post1 and later)
CRASHED = r"Subprocess (\S+) \(pid=(\d+)\) crashed with exit code (-?\d+)"
LOG_END = 512 * 1024  # bytes of the log's end that are searched


def note(session: Session) -> None:
    """Bring ranks.json up to date with the last look. Writes only when something changed.

    After a restart of the host all are gone at once, and none of them is to blame.
    """
    if session.rebooted:
        return
    old = session.recorded
    new = dict(old)
    main = session.main()
    if main:
        new["main"] = {"pid": main.stat.pid, "start": main.stat.start, "title": main.title}
    new["ranks"] = _entries(session, list(old.get("ranks", ())))
    dead = [] if old.get("died") else _dead(session, new)
    if dead:
        new["died"] = [dict(entry, t=round(time.time(), 3)) for entry in dead]
    if new != old and (main or new["ranks"]):
        session.recorded = new
        session.run.write("ranks.json", new)


def _entries(session: Session, old: List[Json]) -> List[Json]:
    labels = {rank["title"]: rank["label"] for rank in session.run.state.get("ranks") or ()}
    by_title = {entry["title"]: entry for entry in old}
    for p in session.alive():
        if p.title in labels or p.title.startswith("sglang::"):
            by_title[p.title] = {
                "label": labels.get(p.title), "title": p.title, "pid": p.stat.pid, "start": p.stat.start
            }  # fmt: skip
    return [by_title[title] for title in sorted(by_title)]


def _dead(session: Session, recorded: Json) -> List[Json]:
    """Who has died since they were written down. With main dead too, main is the one: its children die with it."""
    alive = {p.key for p in session.alive()}
    main = recorded.get("main")
    if main and (main["pid"], main["start"]) not in alive:
        return [dict(main, label=None)]
    ended = {p.key: p.stat.signal for p in session.processes if p.stat.dead}
    found = [entry for entry in recorded["ranks"] if (entry["pid"], entry["start"]) not in alive]
    return [dict(entry, signal=ended.get((entry["pid"], entry["start"]))) for entry in found]


def crash(session: Session) -> Optional[Json]:
    """The process whose death ended the run, or None: {label, title, pid, signal?, t?, why?}."""
    run, recorded = session.run, session.recorded
    died = list(recorded.get("died", ()))
    if not died and session.main():
        died = _dead(session, dict(recorded, ranks=recorded.get("ranks", [])))
    text = _log_end(run)
    said = _said(text, list(recorded.get("ranks", ())))
    guilty: Optional[Json]
    if died and died[0].get("label") is not None:
        guilty = _first(died, said, text)
    else:
        guilty = said[0] if said else (died[0] if died else None)
    asked = run.state.get("stopping")
    if guilty is None or (asked is not None and guilty.get("t", asked) >= asked):
        return None
    return {key: value for key, value in guilty.items() if key != "start"}


def _first(died: List[Json], said: List[Json], text: str) -> Json:
    """Of ranks seen dead in one look, the one that the others died of.

    A rank whose partner is gone prints its exception and ends; one that was killed prints nothing. So: whom main says
    a signal ended, else whom the kernel says so of, else whoever died without a word, else the first.
    """
    if len(died) > 1:
        pids = {entry["pid"] for entry in died}
        killed = [entry for entry in said if entry["pid"] in pids and entry["why"].startswith("exit code -")]
        silent = [entry for entry in died if f" {entry['label']}] Scheduler hit an exception" not in text]
        signalled = [entry for entry in died if entry.get("signal")]
        for suspects in (killed, signalled, silent):
            if len(suspects) == 1:
                return suspects[0]
    return died[0]


def _log_end(run: Run) -> str:
    try:
        with open(run.log, "rb") as file:
            file.seek(max(0, file.seek(0, 2) - LOG_END))
            return file.read(LOG_END).decode("utf-8", "replace")
    except OSError:
        return ""


def _said(text: str, ranks: List[Json]) -> List[Json]:
    """The crashes that main itself wrote into the log, of recorded processes."""
    if not ranks or " crashed with exit code " not in text:
        return []
    by_pid = {entry["pid"]: entry for entry in ranks}
    found = [(by_pid.get(int(line.group(2))), line.group(3)) for line in re.finditer(CRASHED, text)]
    return [dict(entry, why=f"exit code {code}") for entry, code in found if entry]
