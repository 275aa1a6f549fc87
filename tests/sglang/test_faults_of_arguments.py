"""Arguments and environments that cannot work: refused beforehand, and past that named by what SGLang itself says."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from roles import check
from roles.lab.host import LabHost
from roles.server.deploy import Report
from tests.faults.watched import Watched
from tests.hosts.clone import Clone, eventually
from tests.sglang.broken import DEPLOY, PORT, log_of, nothing_is_left, took, two
from tests.sglang.real import UP

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]
Forced = Callable[[Clone, str], Report]


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch, real: list[LabHost]) -> Forced:
    """A deploy that the check does not stop. Its fault is timed from when its words are in the log."""

    def run(clone: Clone, words: str) -> Report:
        monkeypatch.setattr(check, "refuse", lambda _: None)
        watched = Watched(clone.root, "lab", "two")
        eventually(lambda: words in (log_of(real[0]) if watched.steps[-1:] and started(watched) else ""), UP)
        fatal = time.time()
        report = watched.report(UP)
        assert report.verdict is not None
        said = next(at for at, step in watched.said if report.verdict.sentence in step)
        print(f"{words}: said after {max(0.0, said - fatal):.2f} s")
        return report

    return run


def started(watched: Watched) -> bool:
    return any(step.startswith("starting run") for step in watched.steps)


def refusal(clone: Clone) -> str:
    """What `inv deploy` says when it refuses."""
    refused = clone.inv(*DEPLOY)
    assert refused.code in (2, 3), refused.said
    return refused.err


def test_an_ambiguous_flag_is_refused_and_past_the_check_named(
    clone: Clone, real: list[LabHost], forced: Forced
) -> None:
    clone.profile("two", PORT, **two(extra_args=["--pp", "2"]))
    assert "--pp" in refusal(clone) and "ambiguous" in refusal(clone)

    verdict = forced(clone, "ambiguous option").verdict

    assert verdict is not None and (verdict.kind, verdict.id) == ("failed", "arguments")
    assert "ambiguous option: --pp could match --pp-size" in verdict.sentence
    assert nothing_is_left(real[0])


def test_a_layout_that_does_not_divide_is_refused_and_past_the_check_named(
    clone: Clone, real: list[LabHost], forced: Forced
) -> None:
    environment = {"SGLANG_CPU_OMP_THREADS_BIND": "0|1|0"}
    clone.profile("two", PORT, **two(layout={"tp": 3}, environment=environment))
    assert "tp" in refusal(clone)

    verdict = forced(clone, "divisible").verdict

    assert verdict is not None and verdict.kind == "failed"
    assert verdict.id == "tp-nodes", verdict.sentence
    assert nothing_is_left(real[0])


def test_a_layout_in_which_sglang_waits_for_ever_is_refused_by_the_plan_and_a_node_that_never_comes_is_named(
    clone: Clone, real: list[LabHost]
) -> None:
    clone.profile("two", PORT, **two(layout={"tp": 2, "pp": 3, "nnodes": 2}))
    refused = clone.inv("show", "--host", "lab1,lab2", "--profile", "two")
    assert refused.code == 2 and "pp" in refused.err, refused.said
    # Two nodes are asked for in a spelling that the plan does not know: the second one never comes.
    clone.profile("two", PORT, **two(extra_args=["--nnode", "2"], timeouts={"stop": 5, "stall": 15}))

    began = time.time()
    stalled = clone.inv(*DEPLOY, timeout=UP)
    took("a node that never comes: start and 15 s of stall included", began)

    assert stalled.code in (5, 7), stalled.said
    print(stalled.said)
    clone.inv("teardown", timeout=120)


def test_a_proxy_that_catches_sglangs_own_request_is_warned_of_and_named(
    clone: Clone, real: list[LabHost], forced: Forced
) -> None:
    environment: dict[str, Any] = {"http_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    clone.profile("two", PORT, **two(layout={"tp": 1}, environment=environment))
    said = clone.inv("check", "--host", "lab", "--profile", "two")
    assert "no_proxy" in said.out and "warning" in said.out, said.said

    verdict = forced(clone, "warmup error").verdict

    assert verdict is not None and (verdict.kind, verdict.id) == ("failed", "warmup-proxy"), verdict
    assert "a proxy variable caught SGLang's own first request" in verdict.sentence
    assert nothing_is_left(real[0])
