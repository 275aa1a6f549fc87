"""Log files as people bring them: in pieces, rotated, several starts in one, without the other node's, gigabytes."""

from __future__ import annotations

from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from roles.watch.condense import Condensed, condense
from roles.watch.explain import explain
from tests.watch.frames import text_of

UP = "gpu-0.5.17-tp2-cuda-graphs-up.log"
KILLED = "cpu-0.5.23-tp2pp2-rank-killed-up.log"
OWN = "cpu-0.5.23-2node-tp2pp2-own-addresses-up"


def test_echoes_and_noise_are_counted_and_not_shown() -> None:
    told = explain({"node0.log": text_of(KILLED)})

    assert told.counts == {"noise": 117, "steady": 5, "echoes": 8}
    assert told.as_json()["lines"] == told.counts


def test_rotated_pieces_given_in_any_order_are_one_log() -> None:
    lines = text_of(KILLED).splitlines(keepends=True)
    first, second = "".join(lines[:150]), "".join(lines[150:])

    told = explain({"server.log": second, "server.log.1": first})

    whole = explain({"server.log.1": text_of(KILLED)})
    assert (told.kind, told.verdict.sentence) == ("lost", whole.verdict.sentence)
    assert told.board.ranks == whole.board.ranks


def test_of_several_starts_in_one_file_the_last_one_is_explained() -> None:
    told = explain({"server.log": text_of(KILLED) + text_of(UP)})

    assert told.kind == "up"
    assert told.notes == ("server.log holds 2 starts: this is the last one",)


def test_where_the_other_nodes_log_is_not_given_it_is_said_and_the_given_one_judged() -> None:
    told = explain({"a": text_of(f"{OWN}.node0.log")})

    assert told.kind == "up"
    assert told.notes[0].startswith("no log of node 1 is given")


def test_both_nodes_logs_are_woven_together_in_any_order() -> None:
    one, other = text_of(f"{OWN}.node0.log"), text_of(f"{OWN}.node1.log")

    told = explain({"b": other, "a": one})

    assert (told.kind, told.notes) == ("up", ())
    assert [(s.label, s.host) for s in told.board.ranks.values()][2:] == [("PP1 TP0", "b"), ("PP1 TP1", "b")]


def test_a_text_that_is_no_log_is_called_so() -> None:
    told = explain({"x": "root:x:0:0::/root:/bin/sh\n"})

    assert told.kind == "unknown"
    assert told.verdict.sentence == "nothing here is a line of SGLang's: what happened is unknown"


def test_a_log_however_long_is_condensed_to_its_story() -> None:
    text = text_of(UP)
    steady = next(line for line in text.splitlines() if "Decode batch" in line) + "\n"

    condensed = condense([text, *[steady * 1000] * 100, "the end"])

    assert condensed.steady > 99_990
    assert len(condensed.text) < len(text) + 1000
    assert condensed.text.endswith("the end\n")


def test_a_log_of_other_lines_without_end_loses_its_middle_and_says_so() -> None:
    said = condense(f"line {number}\n" for number in range(450_000))

    assert (said.cut, said.text.count("\n")) == (50_000, 400_000)
    assert said.text.startswith("line 0\n")
    assert said.text.endswith("line 449999\n")
    assert explain({"x": Condensed("[2026-11-29 14:00:00] a\n", cut=3)}).notes == (
        "x: 3 lines of its middle were not read",
    )


@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(1, 5000), min_size=1, max_size=30))
def test_a_log_is_condensed_the_same_however_it_is_cut(cuts: list[int]) -> None:
    text = text_of(UP)
    pieces = iter(text)
    cut = ["".join(islice(pieces, length)) for length in cuts] + ["".join(pieces)]

    assert condense(cut) == condense([text])
