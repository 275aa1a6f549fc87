"""Every host reports, whatever the others do."""

import signal
import threading

import pytest

from roles.inventory.errors import Unreachable
from roles.remote import each


def test_all_jobs_run_at_once_and_outcomes_keep_their_order() -> None:
    barrier = threading.Barrier(5, timeout=5)

    def job(number: int) -> int:
        barrier.wait()  # passes only when all five run at the same time
        return number * 10

    assert [outcome.unwrap() for outcome in each([1, 2, 3, 4, 5], job)] == [10, 20, 30, 40, 50]


def test_one_host_that_fails_does_not_hide_the_others() -> None:
    def job(name: str) -> str:
        if name == "b":
            raise Unreachable("b: gone")
        return name.upper()

    outcomes = each(["a", "b", "c"], job)

    assert [outcome.value for outcome in outcomes] == ["A", None, "C"]
    with pytest.raises(Unreachable, match="b: gone"):
        outcomes[1].unwrap()


def test_no_more_than_the_bound_run_at_once() -> None:
    running, most, lock = 0, 0, threading.Lock()
    gate = threading.Event()

    def job(_: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 3:
                gate.set()
        gate.wait(5)
        with lock:
            running -= 1

    each(range(9), job, parallel=3)

    assert most == 3


def test_a_bug_of_ours_is_not_taken_for_a_host_that_failed() -> None:
    with pytest.raises(ZeroDivisionError):
        each([1, 0], lambda number: 1 // number)


def test_ctrl_c_is_raised_at_once_and_nothing_more_is_begun() -> None:
    begun, release = [], threading.Event()

    def job(number: int) -> None:
        begun.append(number)
        if len(begun) == 2:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        release.wait(20)

    before = set(threading.enumerate())
    try:
        with pytest.raises(KeyboardInterrupt):
            each([1, 2, 3, 4], job, parallel=2)
        assert not release.is_set()  # nobody was waited for
    finally:
        release.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
    assert sorted(begun) == [1, 2]
