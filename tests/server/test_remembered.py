"""Which runs `inv history` and `inv report` choose, and what the runs teach."""

from dataclasses import replace
from pathlib import Path

import pytest

from roles.inventory.errors import InputError
from roles.ledger import Ledger, Record, lessons
from roles.server.remembered import Wanted, remembered

UP = Record("20261129-100000-tp8-aaaa", "tp8@gpu", "tp8", ("gpu",), "ada@desk", 100.0, "stopped", up_after=60.0)
FAILED = replace(
    UP, run="20261129-110000-tp8-bbbb", started=200.0, result="failed", up_after=None, cause="cuda-oom", do="less"
)
PAIR = replace(UP, run="20261129-120000-tp4-cccc", deployment="tp4@a,b", profile="tp4", hosts=("a", "b"), started=300.0)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path)
    for record in (UP, FAILED, PAIR):
        made.write(record)
    return made


@pytest.mark.parametrize(
    ("wanted", "runs"),
    [
        (Wanted(), [PAIR, FAILED, UP]),
        (Wanted(last=1), [PAIR]),
        (Wanted(host="b,gpu-x"), [PAIR]),
        (Wanted(profile="tp8"), [FAILED, UP]),
        (Wanted(profile="tp8", last=1), [FAILED]),
        (Wanted(name="tp4@a,b"), [PAIR]),
        (Wanted(name="20261129-10"), [UP]),
        (Wanted(result="failed"), [FAILED]),
        (Wanted(since=200.0), [PAIR, FAILED]),
        (Wanted(host="gp"), []),
    ],
    ids=str,
)
def test_runs_are_chosen_by_everything_that_is_asked(ledger: Ledger, wanted: Wanted, runs: list[Record]) -> None:
    assert remembered(ledger, wanted) == runs


def test_less_than_no_run_is_an_input_error(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="--last -1"):
        remembered(ledger, Wanted(last=-1))


def test_a_result_that_no_run_can_have_is_an_input_error(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="--result faild: no run ends so; did you mean failed"):
        remembered(ledger, Wanted(result="faild"))


def test_no_more_records_are_read_than_are_shown(ledger: Ledger) -> None:
    class Counted(Ledger):
        def read(self, run: str) -> Record | None:
            asked.append(run)
            return super().read(run)

    asked: list[str] = []

    remembered(Counted(ledger.folder.parent), Wanted(last=2))

    assert asked == [PAIR.run, FAILED.run]


def test_a_lesson_counts_what_came_up_how_long_it_took_and_what_the_others_failed_by() -> None:
    slow = replace(UP, run="20261129-130000-tp8-dddd", up_after=100.0, stages={"weights": 80.0})
    quick = replace(UP, stages={"weights": 40.0, "graphs": 2.0})
    again = replace(FAILED, run="20261129-140000-tp8-eeee", stages={"weights": 1.0})
    other, third = (
        replace(FAILED, run=f"20261129-16000{n}-tp8-gggg", cause="unknown", sentence=text)
        for n, text in enumerate("xy")
    )
    odd = replace(FAILED, run="20261129-150000-tp8-ffff", cause="", result="refused", sentence="port taken")

    eight, four = lessons([slow, odd, PAIR, quick, FAILED, again, other, third])

    assert (eight.deployment, len(eight.runs), eight.came_up, eight.median) == ("tp8@gpu", 7, 2, 80.0)
    assert eight.up_after == [60.0, 100.0]
    assert eight.stages == {"weights": 60.0, "graphs": 2.0}  # a run that failed half-way tells no duration
    assert [(cause.id, cause.runs, cause.newest) for cause in eight.causes] == [
        ("cuda-oom", 2, again),
        ("refused", 1, odd),
        ("unknown", 1, other),
        ("unknown", 1, third),
    ]
    assert (four.deployment, four.causes) == ("tp4@a,b", [])
