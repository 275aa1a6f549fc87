"""Arguments and environments that cannot work: refused beforehand, and past that named by what SGLang itself says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from roles import check
from roles.lab.host import LabHost
from roles.server.deploy import Report
from tests.faults.watched import Watched
from tests.hosts.clone import Clone, eventually
from tests.hosts.reach import shell
from tests.sglang.broken import DEPLOY, PORT, log_of, nothing_is_left, two
from tests.sglang.real import OPT, UP

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]
Forced = Callable[[Clone, str], Report]


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch, real: list[LabHost]) -> Forced:
    """A deploy that the check does not stop. Its fault is timed from when its words are in the log."""

    def run(clone: Clone, words: str) -> Report:
        monkeypatch.setattr(check, "refuse", lambda _: None)
        watched = Watched(clone.root, "lab", "two")
        eventually(lambda: words in log_of(real[0]), UP)
        fatal = time.time()
        report = watched.report(UP)
        assert report.verdict is not None
        said = next(at for at, step in watched.said if report.verdict.sentence in step)
        print(f"{words}: said after {max(0.0, said - fatal):.2f} s")
        return report

    return run


def refusal(clone: Clone) -> str:
    """What `inv deploy` says when it refuses."""
    refused = clone.inv(*DEPLOY)
    assert refused.code in (2, 3), refused.said
    return refused.err


def test_an_ambiguous_flag_is_refused_and_past_the_check_named(
    clone: Clone, real: list[LabHost], forced: Forced
) -> None:
    clone.profile("two", PORT, **two(extra_args=["--attention", "torch_native"]))
    refused = refusal(clone)
    assert "--attention" in refused and "ambiguous" in refused, refused

    verdict = forced(clone, "ambiguous option").verdict

    assert verdict is not None and (verdict.kind, verdict.id) == ("failed", "arguments")
    assert "ambiguous option: --attention could match --attention-" in verdict.sentence
    assert nothing_is_left(real[0])


def test_a_layout_that_does_not_fit_the_model_is_refused_and_one_that_sglang_rejects_is_named(
    clone: Clone, real: list[LabHost], forced: Forced
) -> None:
    layers = json.loads((OPT / "models/tiny-llama/config.json").read_text())["num_hidden_layers"]
    clone.profile("two", PORT, **two(layout={"tp": 1, "pp": layers + 1}))
    assert f"the model has {layers} layers for {layers + 1} pipeline stages" in refusal(clone)
    clone.profile("two", PORT, **two(flags={"moe_dense_tp_size": 3}))

    verdict = forced(clone, "moe_dense_tp_size only supports").verdict

    assert verdict is not None and (verdict.kind, verdict.id) == ("failed", "layout"), verdict
    assert "this release of SGLang does not support the layout" in verdict.sentence
    assert nothing_is_left(real[0])


def test_what_sglang_waits_for_in_vain_for_ever_is_refused_beforehand_and_past_that_a_stall_that_names_it(
    clone: Clone, real: list[LabHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    clone.profile("two", PORT, **two(layout={"tp": 2, "pp": 3, "nnodes": 2}))
    hangs = clone.inv("deploy", "--host", "lab1,lab2", "--profile", "two")
    assert hangs.code == 2 and "pp=3 and nnodes=2" in hangs.err, hangs.said
    # The same wait, with a layout that the plan lets through: the second node has no way to the first.
    shell(real[1], f"ip route add blackhole {real[0].address}")
    clone.profile("two", PORT, **two(layout={"tp": 1, "pp": 2, "nnodes": 2}, timeouts={"stop": 5, "stall": 15}))
    refused = clone.inv("deploy", "--host", "lab1,lab2", "--profile", "two")
    assert refused.code == 3 and real[0].address in refused.err, refused.said

    monkeypatch.setattr(check, "refuse", lambda _: None)
    verdict = Watched(clone.root, "lab1,lab2", "two").report(UP).verdict

    assert verdict is not None and verdict.kind == "stalled", verdict
    assert "PP0 on lab1, PP1 on lab2 behind at: distributed starting" in verdict.sentence
    assert "this stage waits for a rank or node that has not come, a firewall" in verdict.sentence
    assert any(witness.startswith("PP1 on lab2: its process (pid") for witness in verdict.witnesses), verdict.witnesses
    clone.inv("teardown", "--host", "lab1,lab2", timeout=120)


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
