"""Records on disk: whole or not at all, newest per deployment, never in the way when one is damaged."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from roles.ledger import Ledger, Record

RECORD = Record(
    run="20261129-100000-tp8-abcd",
    deployment="tp8@gpu",
    profile="tp8",
    hosts=("gpu",),
    by="me@here",
    started=1.0,
    result="up",
)


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write(replace(RECORD, overrides=("tp=4",), stages={"load": 12.5}))

    assert ledger.read(RECORD.run) == replace(RECORD, overrides=("tp=4",), stages={"load": 12.5})
    assert [path.name for path in (tmp_path / "runs" / RECORD.run).iterdir()] == ["record.json"]


def test_open_deployments_are_the_newest_run_of_each_that_was_not_stopped(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write(RECORD)
    ledger.write(replace(RECORD, run="20261129-110000-tp8-bbbb", result="stopped"))
    ledger.write(replace(RECORD, run="20261129-120000-tp4-cccc", deployment="tp4@gpu"))

    assert [record.deployment for record in ledger.open_deployments()] == ["tp4@gpu"]


@pytest.mark.parametrize("result", ["refused", "unreachable"])
def test_a_deploy_that_never_began_hides_none_that_runs(tmp_path: Path, result: str) -> None:
    ledger = Ledger(tmp_path)
    ledger.write(RECORD)
    ledger.write(replace(RECORD, run="20261129-110000-tp8-bbbb", result=result))

    assert ledger.open_deployments() == [RECORD]


def test_deployments_end_with_the_hosts_that_they_were_on(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write(replace(RECORD, run="20261129-110000-a", deployment="a@lab1", hosts=("lab1",)))
    ledger.write(replace(RECORD, run="20261129-110000-b", deployment="b@lab1,gpu", hosts=("lab1", "gpu")))

    ledger.stop_all_on({"lab1", "lab2"}, "its lab was taken down", 9.0)

    assert [record.deployment for record in ledger.open_deployments()] == ["b@lab1,gpu"]
    closed = ledger.read("20261129-110000-a")
    assert closed is not None and (closed.sentence, closed.ended) == ("its lab was taken down", 9.0)


def test_closing_a_run_of_somebody_else_does_nothing(tmp_path: Path) -> None:
    Ledger(tmp_path).close("20261129-110000-tp8-xxxx", "stopped", "", 2.0)

    assert Ledger(tmp_path).all() == []


def test_a_damaged_record_is_passed_over(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write(RECORD)
    (ledger.path("20261129-090000-tp8-zzzz") / "record.json").write_text('{"run": "half')

    assert ledger.all() == [RECORD]


def test_no_runs_folder_means_no_records(tmp_path: Path) -> None:
    assert Ledger(tmp_path).all() == Ledger(tmp_path).open_deployments() == []


def test_what_a_run_failed_by_is_kept_when_what_is_left_of_it_is_stopped(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write(replace(RECORD, result="failed", sentence="TP3 died"))

    ledger.stop(RECORD.run, "stopped", 9.0)

    assert ledger.read(RECORD.run) == replace(RECORD, result="failed", sentence="TP3 died", stopped=9.0)
    assert ledger.open_deployments() == []


def test_a_record_of_another_release_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.keep(RECORD.run, "record.json", json.dumps({**asdict(RECORD), "of_tomorrow": 1}))
    ledger.keep("20261129-090000-tp8-old", "record.json", json.dumps({**_first_fields(), "run": "old"}))

    assert ledger.all() == [replace(RECORD, run="old"), RECORD]


def _first_fields() -> dict[str, object]:
    """What the first release wrote."""
    names = ("deployment", "profile", "hosts", "by", "started", "result")
    return {name: value for name, value in asdict(RECORD).items() if name in names}
