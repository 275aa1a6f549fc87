"""Which process of a run is which rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from roles.onhost import proc
from roles.onhost.session import Process, Session
from roles.onhost.state import Run

TITLE = "sglang::scheduler_TP0"


def process(pid: int, start: int, state: str = "S") -> Process:
    """One with the title of TP0."""
    return Process(proc.Stat(pid, "sglang::schedul", state, 10, 9, 0, start, 0), TITLE)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    run = Run(str(tmp_path), "20261129-100000-tp2-aaaa")
    Path(run.folder).mkdir(parents=True)
    leader, ranks = {"pid": 1, "start": 1}, [{"label": "TP0", "title": TITLE}]
    run.add(leader=leader, session=1, boot="none", ranks=ranks)
    return Session(run)


def test_a_rank_is_the_oldest_that_lives_with_its_title_not_a_fork_of_it(session: Session) -> None:
    session.processes = [process(13, 90), process(11, 50), process(9, 10, "Z")]
    assert [(seat["pid"], seat["alive"]) for seat in session.ranks()] == [(11, True)]

    session.processes = [process(13, 90, "Z"), process(11, 50, "Z")]
    assert [(seat["pid"], seat["alive"]) for seat in session.ranks()] == [(11, False)]
