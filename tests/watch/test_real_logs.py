"""Every real log gives the verdict, the ranks and the cause that its case file says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roles.watch import Watcher
from roles.watch.explain import explain
from roles.watch.weave import by_time
from tests.watch.frames import CASES, LOGS, board, log, text_of

ALL = sorted(CASES.glob("*.json"))


def case_of(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return case


def replayed(case: dict[str, Any], cuts: tuple[int, ...] = ()) -> Watcher:
    """The logs of a case, fed in order of time, each second of them cut at the given places too."""
    watcher = Watcher(board(**case["layout"], http=False))
    for at, node, text in by_time({int(node): text_of(name) for node, name in case["logs"].items()}):
        ends = [*sorted({cut % (len(text) + 1) for cut in cuts}), len(text)]
        for begin, end in zip([0, *ends], ends, strict=False):
            watcher.feed(node, log(text[begin:end], at))
    for frame in case.get("then", ({"f": "end"},)):
        watcher.feed(0, {"t": watcher.board.latest + 1, **frame})
    return watcher


@pytest.mark.parametrize("name", [path.stem for path in ALL])
def test_a_real_log_gives_the_right_verdict(name: str) -> None:
    case = case_of(name)
    want = case["want"]
    watcher = replayed(case)
    verdict = watcher.verdict(watcher.board.latest + 10)

    assert verdict.kind == want["kind"], verdict.sentence
    assert verdict.id == want.get("id", "")
    assert (watcher.board.up_at is not None) == want["was_up"]
    assert {s.label: s.milestone for s in watcher.board.ranks.values()} == want["milestones"]
    assert want.get("said", "") in verdict.sentence
    if "rank" in want:
        assert verdict.rank == want["rank"]
    if "host" in want:
        assert verdict.host == want["host"]
    assert "\n" not in verdict.sentence


@pytest.mark.parametrize("name", [path.stem for path in ALL])
def test_no_rank_of_a_real_log_is_a_stranger_to_its_plan(name: str) -> None:
    assert all(not node.strangers for node in replayed(case_of(name)).board.nodes.values())


@pytest.mark.parametrize("name", [path.stem for path in ALL])
def test_a_log_explains_itself_without_its_plan_and_without_its_host(name: str) -> None:
    case = case_of(name)
    told = explain({file: text_of(file) for file in case["logs"].values()})
    found, cause = told.as_json(), told.as_json()["cause"] or {}

    assert {
        "verdict": found["verdict"],
        "id": cause.get("id"),
        "rank": cause.get("rank"),
        "releases": [found["version"][0], found["version"][-1]],
        "layout": found["layout"],
    } == case["explained"]
    assert {s.label: s.milestone for s in told.board.ranks.values()} == case["want"]["milestones"]
    assert not cause or (cause["todo"] and cause["sentence"])


@pytest.mark.parametrize(
    ("file", "releases"),
    [
        ("cpu-0.5.9-tp1-up.log", ("0.5.9", "0.5.10.post1", "0.5.12.post1")),
        ("gpu-0.5.17-tp2-cuda-graphs-up.log", ("0.5.18",)),
        ("cpu-0.5.23-tp1-up.log", ("0.5.21", "0.5.22", "0.5.23")),
    ],
)
def test_the_spelling_tells_the_release(file: str, releases: tuple[str, ...]) -> None:
    assert explain({"x": text_of(file)}).releases == releases


def test_a_log_pasted_newest_first_is_read_from_its_end() -> None:
    text = text_of("gpu-0.5.17-tp1-up.log")
    turned = "\n".join(reversed(text.splitlines())) + "\n"

    assert explain({"x": turned}).kind == "up"
    assert explain({"x": turned}).as_json() == explain({"x": text}).as_json()


def test_an_explanation_is_one_object() -> None:
    name = "cpu-0.5.23-tp2pp2-rank-killed-loading.log"
    told = explain({"node0.log": text_of(name)}).as_json()

    assert told["verdict"] == "failed"
    assert (told["cause"]["id"], told["cause"]["rank"]) == ("rank-died", "PP1 TP0")
    assert told["layout"] == {"tp": 2, "pp": 2, "dp": 1, "nnodes": 1}
    assert told["version"] == ["0.5.21", "0.5.22", "0.5.23"]
    assert told["ranks"]["PP0 TP1"] == "distributed"


def test_words_that_are_no_log_are_called_unknown() -> None:
    assert explain({"x": "Dear diary,\nnothing happened.\n"}).kind == "unknown"


def test_every_log_has_a_case() -> None:
    used = {name for path in ALL for name in case_of(path.stem)["logs"].values()}

    assert used == {path.name for path in LOGS.glob("*.log")}


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(["tp1-graphs", "tp2-graphs", "rank-killed-up", "port-in-use", "model-path", "two-nodes"]),
    cuts=st.lists(st.integers(0, 60_000), max_size=12).map(tuple),
)
def test_a_log_cut_anywhere_gives_the_same_board(name: str, cuts: tuple[int, ...]) -> None:
    case = case_of(name)

    assert replayed(case, cuts).board == replayed(case).board


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(list(range(40))))
def test_ranks_interleaved_in_any_way_give_the_same_board(order: list[int]) -> None:
    """The ranks' lines of a real log, each rank's own in their order, woven together in another way."""
    lines = text_of("cpu-0.5.23-tp2pp2-up-then-sigterm.log").splitlines(keepends=True)
    queues = [[line for line in lines if f" PP{pp} TP{tp}] " in line] for pp in (0, 1) for tp in (0, 1)]
    plain = "".join(line for line in lines if any(line in queue for queue in queues))
    woven = [queues[turn % 4].pop(0) for turn in order * 10 if queues[turn % 4]]
    rest = [line for queue in queues for line in queue]

    boards = []
    for text in (plain, "".join(woven + rest)):
        watcher = Watcher(board(2, 2, http=False))
        watcher.feed(0, log(text))
        boards.append((watcher.board.ranks, watcher.board.evidence, watcher.verdict(200.0)))
    assert boards[0] == boards[1]
