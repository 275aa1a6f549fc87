"""The real SGLang is broken when it is up: `inv watch` and `inv status` say which rank, where and why."""

from __future__ import annotations

import time

import pytest

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.clone import Clone
from tests.hosts.watching import Watching
from tests.sglang.broken import DEPLOY, PORT, nothing_is_left, took, two
from tests.sglang.real import UP

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]
SOON = 10.0  # seconds; measured: below one, and two for a link that is cut
WATCH = ("--host", "lab", "--name", "two@lab")


@pytest.fixture
def up(clone: Clone, real: list[LabHost]) -> Clone:
    """Two real ranks, up."""
    if real[0].record.kind == "loopback":
        pytest.skip("hosts of kind loopback share this machine's network")
    clone.profile("two", PORT, **two())
    clone.ok(*DEPLOY, timeout=UP)
    return clone


def watching(up: Clone, *options: str) -> Watching:
    """`inv watch`, attached."""
    found = Watching(up, *WATCH, *options)
    found.said("watching 2 ranks")
    found.said("health 200")
    return found


def test_a_cut_link_is_no_loss_and_then_a_killed_rank_is_one(up: Clone, real: list[LabHost]) -> None:
    host, watch = real[0], watching(up, "--keep-on-loss")

    cut = time.time()
    host.cut()
    try:
        lost = watch.said("connection lost", SOON)
        took("link cut when up", cut)
    finally:
        host.heal()
    assert "the server goes on by itself" in lost["text"]
    watch.said("connected again")

    killed = seen.kill(seen.titled(host, "sglang::scheduler_TP1"))
    sentence = watch.said("lost: ", SOON)
    assert took("rank killed when up, by inv watch", killed) < SOON
    began = time.time()
    status = up.inv("status")
    took("rank killed when up, by inv status, its start included", began)
    code, last = watch.end()

    assert "TP1 on lab died (killed by SIGKILL" in sentence["text"]
    assert (code, last["id"], last["rank"], last["host"]) == (6, "rank-died", "TP1", "lab")
    assert (status.code, "it was up, then TP1 on lab died (killed by SIGKILL" in status.out) == (6, True), status.said
    up.ok("teardown", timeout=120)
    assert nothing_is_left(host)


def test_main_killed_when_up_is_named_and_nothing_is_left(up: Clone, real: list[LabHost]) -> None:
    watch = watching(up)

    killed = seen.kill(seen.mains(real[0])[0])
    sentence = watch.said("lost: ", SOON)
    assert took("main killed when up", killed) < SOON
    code, last = watch.end()

    assert "main on lab was killed by SIGKILL from outside" in sentence["text"]
    assert (code, last["id"], last["left"]) == (6, "main-killed", [])
    assert nothing_is_left(real[0])


def test_a_crashed_host_is_a_lost_connection_and_once_it_is_back_a_restarted_host(
    up: Clone, real: list[LabHost]
) -> None:
    watch = watching(up)

    crashed = time.time()
    real[0].crash()
    lost = watch.said("connection lost", SOON)
    took("host crashed when up", crashed)
    real[0].boot()
    code, last = watch.end()

    assert "unless lab itself is down" in lost["text"]
    assert (code, last["id"]) == (6, "restarted")
    assert last["sentence"] == "lab was restarted: nothing of the server is left on it"
