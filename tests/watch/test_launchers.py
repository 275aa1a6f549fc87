"""Logs as other launchers hand them out: read as SGLang wrote them, several servers told apart, or called unknown."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from roles.watch.explain import explain
from tests.watch.frames import text_of

LOG = "cpu-0.5.23-tp2pp2-rank-killed-loading.log"
OWN = "cpu-0.5.23-2node-tp2pp2-own-addresses-up"
STAMP = "2026-11-29T14:37:54.123456789Z"
PREFIXES = {
    "docker compose": "sglang-1  | ",
    "docker compose --timestamps": f"sglang-1  | {STAMP} ",
    "kubectl --timestamps": f"{STAMP} ",
    "kubectl --prefix": "[pod/glm-0/server] ",
    "kubectl --prefix --timestamps": f"[pod/glm-0/server] {STAMP} ",
    "containerd's file": f"{STAMP} stderr F ",
    "journald": "Nov 29 14:37:54 gpu1 sglang[4242]: ",
    "srun --label": " 0: ",
    "dynamo's child": f"{STAMP} DEBUG dynamo_run::subprocess: ",
}


def prefixed(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=list(PREFIXES))
def test_a_launchers_prefix_changes_nothing(prefix: str) -> None:
    plain, found = explain({"x": text_of(LOG)}).as_json(), explain({"x": prefixed(text_of(LOG), prefix)}).as_json()

    assert {**found, "lines": None} == {**plain, "lines": None}


@pytest.mark.parametrize(
    "prefix", [lambda n: f"sglang-{n}  | ", lambda n: f"{n}: ", lambda n: f"[pod/glm-{n}/server] "], ids="csk"
)
def test_one_file_with_both_nodes_is_both_nodes(prefix: Callable[[int], str]) -> None:
    texts = [prefixed(text_of(f"{OWN}.node{node}.log"), prefix(node)).splitlines(keepends=True) for node in (0, 1)]
    other = "nginx-1  | 10.0.0.1 GET /\n" if prefix(0).startswith("sglang") else ""
    woven = "".join(line for pair in zip(*texts, strict=False) for line in (*pair, other)) + "".join(
        texts[0][len(texts[1]) :]
    )

    told = explain({"job.log": woven + "".join(texts[1][len(texts[0]) :])})

    assert (told.kind, told.notes) == ("up", ())
    assert told.layout.nnodes == 2 and len(told.board.ranks) == 4


def test_a_launchers_prefix_on_a_paste_that_is_newest_first() -> None:
    turned = "\n".join(reversed(text_of("gpu-0.5.17-tp1-up.log").splitlines()))

    assert explain({"x": prefixed(turned, "sglang-1  | ")}).kind == "up"


def test_records_that_dynamo_took_over_are_read_and_what_they_do_not_tell_is_not_guessed() -> None:
    head = re.compile(r"^\[(\S+) (\S+?)\] ", re.MULTILINE)
    dynamo = head.sub(r"\1T\2.123456Z  INFO scheduler.__init__: ", text_of("gpu-0.5.17-tp1-up.log"))
    ranks = re.sub(r"^\[(\S+) (\S+?)(?: PP\d TP\d)?\] ", r"\1T\2.1Z  INFO x.y: ", text_of(LOG), flags=re.MULTILINE)

    assert explain({"x": dynamo}).kind == "up"
    told = explain({"x": ranks})
    assert all(state.milestone == "" for state in told.board.ranks.values())  # whose line it was is not told
    assert told.kind in ("failed", "loading") and (told.verdict.rank is None or told.verdict.id == "rank-died")
