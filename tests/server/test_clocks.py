"""Hosts whose clocks are wrong: the earliest cause is still the earliest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from roles.server.clocks import Clocks
from roles.watch import Watcher
from tests.watch.frames import board, healthy, log, procs, said

NOW = 1795963000.0


def crash(axes: str, exception: str) -> dict[str, Any]:
    """A scheduler's last words."""
    hit = said(axes, "Scheduler hit an exception: Traceback (most recent call last):")
    return log(f'{hit}  File "x.py", line 1, in f\n{exception}\n')


ECHO = crash("PP0 TP0", "RuntimeError: [..pair.cc:537] Read error: Connection reset by peer")
CAUSE = crash("PP1 TP1", "RuntimeError: CUDA error: an illegal memory access was encountered")
LATER = crash("PP0 TP1", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB")


def watched(ahead: dict[int, float], frames: Iterable[tuple[int, float, dict[str, Any]]]) -> Watcher:
    """A run over two nodes whose clocks are `ahead`; each frame comes with its true time."""
    clocks, on = Clocks(lambda: NOW), board(nnodes=2)
    watcher = Watcher(on)
    for node, skew in ahead.items():
        watcher.feed(node, clocks.here(node, {"f": "hello", "t": NOW + skew}))
    for node, frame in healthy(on, NOW):
        watcher.feed(node, frame)
    for node, at, frame in frames:
        watcher.feed(node, clocks.here(node, {**frame, "t": at + ahead[node]}))
    return watcher


@pytest.mark.parametrize("ahead", [{0: 0.0, 1: 0.0}, {0: -90.0, 1: 300.0}, {0: 3600.0, 1: -3600.0}], ids=str)
def test_of_two_nodes_with_wrong_clocks_the_earlier_cause_is_named(ahead: dict[int, float]) -> None:
    watcher = watched(ahead, [(0, NOW + 12, LATER), (1, NOW + 10, CAUSE), (0, NOW + 13, ECHO)])

    verdict = watcher.verdict(NOW + 20)

    assert (verdict.id, verdict.rank, verdict.host) == ("illegal-access", "PP1 TP1", "lab2")


def test_a_silent_death_on_a_host_whose_clock_is_ahead_is_still_before_its_echo() -> None:
    ahead = {0: 0.0, 1: 500.0}
    death = procs(board(nnodes=2), node=1, zombie=["PP1 TP0"])
    watcher = watched(ahead, [(1, NOW + 10, death), (0, NOW + 10.2, ECHO)])

    verdict = watcher.verdict(NOW + 20)

    assert (verdict.id, verdict.rank) == ("rank-died", "PP1 TP0")


def test_frames_made_here_are_on_this_machines_clock_already() -> None:
    clocks = Clocks(lambda: NOW)
    clocks.here(0, {"f": "hello", "t": NOW + 60})

    assert clocks.here(0, {"f": "lost_connection", "t": NOW + 1})["t"] == NOW + 1
    assert clocks.here(0, {"f": "procs", "t": NOW + 61})["t"] == NOW + 1
