"""Which cores the threads of many connections run on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

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


def in_a_thread(job: Callable[[], None]) -> None:
    """The cores are the thread's: those of the tests stay as they are."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            job()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def test_threads_for_many_hosts_share_one_core_and_programs_have_all() -> None:
    before = os.sched_getaffinity(0)

    def job() -> None:
        found = each(range(cores.MANY), lambda _: frozenset(os.sched_getaffinity(0)))
        assert len({outcome.unwrap() for outcome in found}) == 1
        assert len(found[0].unwrap()) == 1
        command = Piped("sleep 60")
        try:
            assert os.sched_getaffinity(command._process.pid) == before
        finally:
            command.close()

    in_a_thread(job)
    assert os.sched_getaffinity(0) == before


def test_few_hosts_or_few_cores_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)

    def job() -> None:
        cores.together(cores.MANY - 1)
        assert os.sched_getaffinity(0) == before
        monkeypatch.setattr(cores, "SPARE", len(before) + 1)
        cores.together(cores.MANY)
        assert os.sched_getaffinity(0) == before

    in_a_thread(job)


def test_a_system_without_affinity_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity")
    cores.together(cores.MANY)
