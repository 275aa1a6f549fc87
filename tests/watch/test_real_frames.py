"""Recorded frames of a real run: it comes up, then one rank is killed with SIGKILL."""

from __future__ import annotations

import json
from typing import Any

from roles.watch import Watcher, durations, expect
from tests.watch.frames import LOGS, Sizes, seats

RECORDED = LOGS / "frames-cpu-0.5.23-tp2-rank-killed-up.jsonl"
WANTED = {
    "tp_size": 2,
    "pp_size": 1,
    "nnodes": 1,
    "model_path": "/srv/model",
    "served_model_name": "tiny",
    "port": 31961,
}


def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDED.read_text().splitlines()]


def watcher() -> Watcher:
    sizes = Sizes(tp=2)
    return Watcher(expect(seats(sizes), layout=sizes, expected=WANTED, port=31961))


def test_it_is_up_with_the_generation_and_never_before() -> None:
    watching = watcher()
    kinds = []
    for frame in recorded():
        watching.feed(0, frame)
        kinds.append((frame["f"], watching.verdict(frame["t"]).kind))
    first_up = next(index for index, (_, kind) in enumerate(kinds) if kind == "up")

    assert kinds[first_up] == ("generation", "up")
    assert {kind for _, kind in kinds[:first_up]} == {"loading"}


def test_the_killed_rank_is_named_half_a_second_after_its_death() -> None:
    watching = watcher()
    for frame in recorded():
        watching.feed(0, frame)
    verdict = watching.verdict(watching.board.latest + 0.5)

    assert verdict.kind == "lost"
    assert verdict.sentence == "TP1 on lab1 died (pid 3747) while serving"


def test_the_stages_of_a_real_run_have_their_durations() -> None:
    watching = watcher()
    for frame in recorded():
        watching.feed(0, frame)

    assert [stage.name for stage in durations(watching.board)] == [
        "start",
        "distributed",
        "before weights",
        "weights",
        "memory",
        "HTTP and warmup",
        "health, settings, generation",
    ]
    assert all(stage.seconds >= 0 for stage in durations(watching.board))


def test_every_frame_says_what_changed_and_nothing_twice() -> None:
    watching = watcher()
    told = [f"{change.label} {change.text}" for frame in recorded() for change in watching.feed(0, frame)]

    assert len(told) == len(set(told))
    assert "TP1 process ended, pid 3747" in told
    assert "None port held by pid 32553, this run" in told
