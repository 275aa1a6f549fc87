"""What `inv history` and `inv report` show."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from roles.ledger import Record, lessons
from roles.view import history as words
from roles.view.console import THEME

RUN = Record(
    "20261129-100000-tp8-aaaa", "tp8@gpu", "tp8", ("gpu",), "ada@desk", 880.0, "failed",
    sentence="TP3 on gpu: out of memory\nand more", cause="cuda-oom", do="lower mem_fraction_static",
    overrides=("tp=8",), rank="TP3", host="gpu", stages={"start": 5.0, "weights": 20.0}, memory_mib={"TP0": 70_000},
)  # fmt: skip
UP = replace(RUN, run="20261129-110000-tp8-bbbb", result="up", sentence="up", cause="", overrides=(), up_after=75.0)


def console(*, terminal: bool = False, width: int = 80) -> Console:
    return Console(
        file=io.StringIO(), width=width, theme=THEME, force_terminal=terminal, no_color=True, highlight=False
    )


def text(out: Console) -> str:
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_in_a_file_each_run_is_one_line() -> None:
    out = console()

    words.history(out, [UP, RUN], 1000.0)

    assert text(out).splitlines() == [
        "RESULT  WHEN       DEPLOYMENT  UP AFTER    RUN                       WHAT HAPPENED",
        "up      2 min ago  tp8@gpu     1 min 15 s  20261129-110000-tp8-bbbb",
        "failed  2 min ago  tp8@gpu                 20261129-100000-tp8-aaaa  TP3 on gpu: out of memory; --set tp=8",
    ]


def test_on_a_narrow_terminal_the_sentence_stands_below_and_is_whole() -> None:
    out = console(terminal=True, width=40)

    words.history(out, [RUN], 1000.0)

    assert "out of memory; --set" in " ".join(text(out).split())
    assert "\n    20261129-100000-tp8-aaaa" in text(out)


@pytest.mark.parametrize(("of_all", "said"), [(True, "no run was made from here yet"), (False, "no run of that kind")])
def test_no_runs_are_said_to_be_none(of_all: bool, said: str) -> None:
    empty, taught = console(), console()

    words.history(empty, [], 1000.0, of_all=of_all)
    words.report(taught, [], of_all=of_all)

    assert said in text(empty)
    assert text(empty) == text(taught)


def test_a_report_says_how_often_it_came_up_and_what_to_do_about_the_rest() -> None:
    out = console(width=120)

    words.report(out, lessons([UP, RUN]))

    assert "tp8@gpu 2 runs, 1 came up, after 75.0 s" in text(out)
    assert "1 × cuda-oom TP3 on gpu: out of memory\n      do: lower mem_fraction_static" in text(out)
    bars = [line for line in text(out).splitlines() if "━" in line]
    assert [line.count("━") for line in bars] == [6, 24]


def test_of_one_run_everything_that_is_known_is_shown() -> None:
    out = console(width=120)

    words.one(out, RUN, Path("runs/x"), ["node0.log"])

    for known in ("TP3 on gpu", "cuda-oom", "tp=8", "TP0 70,000 MiB", "runs/x: node0.log", "by ada@desk"):
        assert known in text(out)
