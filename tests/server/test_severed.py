"""When a host that is silent counts as lost: only when everything that can be asked says so, for long enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from roles.server.reaching import Told, told
from roles.server.severed import Severed
from roles.watch import Board
from roles.watch.fold import advance
from tests.watch.frames import board, health, port

NO: Told = (False, "timed out")
YES: Told = (True, "")
UNKNOWN: Told = (None, "")
LOST = {"f": "lost_connection", "t": 1000.0, "why": "nothing heard"}


class Silent:
    """Two nodes or more, and what the witnesses say of the silent ones, which the test chooses."""

    def __init__(self, on: Board, silent: Sequence[int] = (1,)) -> None:
        for node in silent:
            on = advance(on, node, LOST)
        self.board, self.says, self.now = on, NO, 1000.0
        self.asked: list[tuple[int, list[int]]] = []
        self.lines: list[str] = []
        self.severed = Severed(self._reaches, self.lines.append, lambda job: job())

    def _reaches(self, witness: int, silent: Sequence[int]) -> Mapping[int, Told]:
        self.asked.append((witness, list(silent)))
        return dict.fromkeys(silent, self.says)

    def after(self, seconds: float, says: Told = NO, status: int | None = 0) -> str | None:
        """The kind of the verdict after so long; `status` is told every 10 s, 0: nobody asks."""
        self.says = says
        for _ in range(int(seconds)):
            self.now += 1
            if status != 0 and self.now % 10 == 0:
                self.board = advance(self.board, 0, health(self.now, status))
            found = self.severed.verdict(self.board, self.now)
            if found is not None:
                return found.kind
        return None


def loading(nnodes: int = 2) -> Board:
    return advance(board(nnodes=nnodes, pp=nnodes), 0, port(999.0))


def up() -> Board:
    return advance(board(nnodes=2, up_at=900.0), 0, port(999.0))


def test_a_host_that_nobody_reaches_is_lost_after_the_time() -> None:
    silent = Silent(loading())

    assert silent.after(30) is None
    assert silent.after(15) == "failed"
    assert len(silent.lines) == 1 and "lab1 does not reach lab2 either (timed out)" in silent.lines[0]


def test_one_missed_answer_after_two_minutes_of_others_is_no_loss() -> None:
    silent = Silent(loading())

    assert silent.after(120, YES) is None
    assert silent.after(6, NO) is None
    assert silent.after(120, YES) is None
    assert silent.after(45, NO) == "failed"


def test_a_witness_that_cannot_say_is_no_witness() -> None:
    silent = Silent(loading())

    assert silent.after(300, UNKNOWN) is None
    assert silent.after(6, NO) is None
    assert silent.after(300, UNKNOWN) is None
    assert silent.after(6, NO) is None  # the one before is long ago


def test_a_server_that_answers_is_not_lost_whoever_is_silent() -> None:
    silent = Silent(up())

    assert silent.after(300, NO, 200) is None
    assert silent.after(25, NO, 503) is None  # a long prefill does that
    assert silent.after(30, NO, 200) is None
    assert silent.after(60, NO, 503) == "lost"


def test_what_was_said_long_ago_is_no_evidence() -> None:
    silent = Silent(up())

    assert silent.after(60, NO, 200) is None
    assert silent.after(100, UNKNOWN) is None


def test_a_node_0_that_nobody_reaches_is_lost_when_its_last_word_is_old() -> None:
    silent = Silent(advance(up(), 0, health(999.0)), [0])

    assert silent.after(40) is None
    assert silent.after(10) == "lost"


def test_where_nobody_can_say_a_health_that_fails_decides_and_not_where_the_host_is_reached() -> None:
    assert Silent(up()).after(60, UNKNOWN, 503) == "lost"
    assert Silent(up()).after(60, UNKNOWN, None) == "lost"
    assert Silent(up()).after(300, YES, 503) is None
    assert Silent(up()).after(300, UNKNOWN) is None  # never asked
    assert Silent(up(), [0, 1]).after(300, UNKNOWN) is None  # our own network


def test_another_silence_is_counted_anew() -> None:
    silent = Silent(loading())
    assert silent.after(28) is None
    silent.board = advance(silent.board, 1, {"f": "connected", "t": silent.now})
    assert silent.after(2) is None
    silent.board = advance(silent.board, 1, {**LOST, "t": silent.now})

    assert silent.after(30) is None
    assert silent.after(15) == "failed"


def test_all_silent_hosts_are_asked_for_at_once_and_the_witnesses_take_turns() -> None:
    silent = Silent(loading(4), [1, 2])
    silent.after(11)

    assert silent.asked == [(3, [1, 2]), (0, [1, 2]), (3, [1, 2])]


def test_while_an_answer_is_awaited_nothing_waits_and_nothing_is_asked() -> None:
    silent = Silent(loading())
    jobs: list[Callable[[], None]] = []
    silent.severed = Severed(silent._reaches, silent.lines.append, jobs.append)

    assert silent.after(120) is None
    assert len(jobs) == 1 and silent.asked == []
    jobs[0]()
    assert silent.after(1) is None
    assert len(jobs) == 2


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (None, UNKNOWN),
        ({"reached": False, "from": None, "error": "x has no address here"}, UNKNOWN),
        ({"reached": False, "from": "10.0.0.1", "error": "timed out"}, NO),
        ({"reached": True, "from": "10.0.0.1", "error": None}, YES),
    ],
)
def test_no_address_and_no_answer_are_not_silence(row: Mapping[str, object] | None, expected: Told) -> None:
    assert told(row) == expected
