"""Which of several dead ranks the others died of."""

from __future__ import annotations

from roles.onhost.record import _first, _said

RANKS = [
    {"label": "PP1 TP0", "title": "sglang::scheduler_PP1_TP0", "pid": 41},
    {"label": "PP1 TP1", "title": "sglang::scheduler_PP1_TP1", "pid": 42},
]
ECHO = "[2026-11-29 18:00:00 PP1 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"


def test_of_two_ranks_dead_in_one_look_the_silent_one_was_first() -> None:
    assert _first(RANKS, [], ECHO)["label"] == "PP1 TP1"


def test_mains_word_of_a_signal_decides() -> None:
    text = (
        "Subprocess scheduler_2 (pid=41) crashed with exit code 1. Triggering SIGQUIT for cleanup...\n"
        "Subprocess scheduler_3 (pid=42) crashed with exit code -9. Triggering SIGQUIT for cleanup...\n"
    )

    assert _first(RANKS, _said(text, RANKS), text)["label"] == "PP1 TP1"


def test_the_kernels_word_of_a_signal_decides_where_main_says_nothing() -> None:
    died = [dict(RANKS[0], signal=None), dict(RANKS[1], signal=9)]

    assert _first(died, [], "")["label"] == "PP1 TP1"


def test_without_any_word_it_is_the_first_and_a_single_one_is_itself() -> None:
    assert _first(RANKS, [], "")["label"] == "PP1 TP0"
    assert _first(RANKS[1:], [], ECHO)["label"] == "PP1 TP1"


def test_a_process_that_was_not_written_down_is_not_named() -> None:
    assert _said("Subprocess detokenizer (pid=7) crashed with exit code -9.", RANKS) == []
