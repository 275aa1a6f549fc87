"""Which cores the threads of many connections run on."""

from __future__ import annotations

import os
from collections.abc import Set

import pytest

from roles.remote import cores
from roles.remote.fleet import each
from roles.remote.wire import Piped

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core is no choice")


@pytest.fixture(autouse=True)
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's cores are many enough."""
    monkeypatch.setattr(cores, "SPARE", 2)
    monkeypatch.setattr(cores, "_before", [])


def test_threads_for_many_hosts_share_one_core_and_programs_have_all() -> None:
    before = os.sched_getaffinity(0)

    def job(_: int) -> tuple[Set[int], Set[int]]:
        command = Piped("sleep 60")
        try:
            return os.sched_getaffinity(0), os.sched_getaffinity(command._process.pid)
        finally:
            command.close()

    found = [outcome.unwrap() for outcome in [*each(range(cores.MANY), job), *each(range(cores.MANY), job)]]
    assert len(found[0][0]) == 1
    assert all(pair == (found[0][0], before) for pair in found)
    assert os.sched_getaffinity(0) == before


def test_few_hosts_or_few_cores_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)
    with cores.together(cores.MANY - 1):
        assert os.sched_getaffinity(0) == before
    monkeypatch.setattr(cores, "SPARE", len(before) + 1)
    with cores.together(cores.MANY):
        assert os.sched_getaffinity(0) == before


def test_what_goes_wrong_meanwhile_leaves_the_caller_where_it_was() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(KeyboardInterrupt), cores.together(cores.MANY):
        assert len(os.sched_getaffinity(0)) == 1
        raise KeyboardInterrupt
    assert os.sched_getaffinity(0) == before


def test_a_system_without_affinity_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity")
    with cores.together(cores.MANY):
        pass
