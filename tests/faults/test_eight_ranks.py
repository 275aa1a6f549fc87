"""Eight ranks (tp 4 x pp 2 of the stand-in, which says the lines of real logs), and every way in which they fail.

The same faults on the real SGLang with two ranks: tests/sglang/test_faults_*.py.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from roles.lab.host import LabHost
from tests.check.provoke import small_disk
from tests.faults.test_strangers import stranger
from tests.faults.watched import Watched
from tests.hosts import seen
from tests.hosts.clone import Clone, eventually
from tests.hosts.labs import disk
from tests.hosts.reach import shell
from tests.hosts.watching import Watching

pytestmark = pytest.mark.hosts
EIGHT = {"layout": {"tp": 4, "pp": 2}}
SMALL = ("deploy", "--host", "lab", "--profile", "small")
SOON = 10.0  # seconds from the fault to the sentence, on a busy machine; measured: tests/performance/verdicts.py


def deploying(clone: Clone, port: int, **environment: str) -> Watched:
    """A deploy of eight ranks, watched from inside."""
    clone.profile("small", port, **EIGHT, environment={"STANDIN_PAUSE": "10", **environment})
    return Watched(clone.root, "lab", "small")


def holding(clone: Clone, port: int) -> Watched:
    """The same, when all eight hold while loading and are known."""
    watched = deploying(clone, port, STANDIN_HOLD="loading")
    watched.until(
        lambda board: all(state.pid and state.milestone == "weights loading" for state in board.ranks.values())
    )
    return watched


def sentence(watched: Watched, fault: str, since: float) -> str:
    """What the verdict said first, soon after the fault."""
    verdict = watched.report().verdict
    assert verdict is not None and verdict.kind in ("failed", "foreign", "stalled"), verdict
    at, said = next((at, text) for at, text in watched.said if text == verdict.sentence)
    print(f"{fault}: said after {at - since:.2f} s")
    assert at - since < SOON
    return said


def test_a_rank_killed_while_loading(clone: Clone, host: LabHost, port: int) -> None:
    watched = holding(clone, port)

    killed = seen.kill(seen.titled(host, "sglang::scheduler_PP1_TP2"))

    assert "PP1 TP2 on lab died" in sentence(watched, "rank killed while loading", killed)
    assert seen.servers(host) == []


def test_a_rank_killed_as_soon_as_it_is_there(clone: Clone, host: LabHost, port: int) -> None:
    """Before or after the follower first saw it: its place among main's children names it."""
    watched = deploying(clone, port, STANDIN_HOLD="loading")

    killed = seen.kill(seen.titled(host, "sglang::scheduler_PP1_TP2"))

    assert "PP1 TP2 on lab died" in sentence(watched, "rank killed as soon as it is there", killed)


def test_main_killed_while_loading(clone: Clone, host: LabHost, port: int) -> None:
    watched = holding(clone, port)

    killed = seen.kill(seen.mains(host)[0])

    assert "main on lab was killed by SIGKILL from outside" in sentence(watched, "main killed while loading", killed)
    assert seen.servers(host) == []


def test_a_rank_frozen_while_loading_is_said_at_once_and_is_what_the_stall_is_about(
    clone: Clone, host: LabHost, port: int
) -> None:
    clone.profile("small", port, **EIGHT, environment={"STANDIN_HOLD": "loading"}, timeouts={"stop": 5, "stall": 3})
    watched = Watched(clone.root, "lab", "small")
    pid = seen.titled(host, "sglang::scheduler_PP0_TP3")
    watched.until(lambda board: all(state.pid for state in board.ranks.values()))

    os.kill(pid, signal.SIGSTOP)
    frozen = time.time()
    at = watched.until(lambda board: any(state.state == "T" for state in board.ranks.values()), SOON)
    verdict = watched.report().verdict
    os.kill(pid, signal.SIGCONT)

    print(f"rank frozen while loading: said after {at - frozen:.2f} s")
    assert any(
        change.label == "PP0 TP3" and "stopped by a signal; kill -CONT" in change.text for change in watched.changes
    )
    assert verdict is not None and verdict.kind == "stalled"
    assert verdict.sentence.startswith("PP0 TP3 on lab: stopped by a signal (state T")
    assert any(
        witness.startswith("PP0 TP3 on lab: its process") and "is stopped" in witness for witness in verdict.witnesses
    )


def test_the_port_taken_while_loading(clone: Clone, host: LabHost, port: int) -> None:
    watched = holding(clone, port)

    with stranger(host, port):
        taken = time.time()
        assert "not to this run" in sentence(watched, "port taken while loading", taken)


def test_the_disk_full_while_loading(clone: Clone, linked: list[LabHost], port: int) -> None:
    small_disk(linked[0], "/root/.allranks", "size=300m")
    watched = holding(clone, port)

    shell(linked[0], "cat /dev/zero >/root/.allranks/filler 2>/dev/null; true")
    filled = time.time()

    assert "the disk on lab is full" in sentence(watched, "disk full while loading", filled)


@pytest.mark.parametrize(
    ("fails", "id_", "words"),
    [
        ("start model_path 1", "model-path", "the model path does not exist on this host"),
        ("start arguments 2", "arguments", "ambiguous option: --pp could match --pp-size"),
        ("start divide 1", "tp-nodes", "divisible by"),
        ("ready warmup -9", "warmup-proxy", "a proxy variable caught SGLang's own first request"),
    ],
    ids=["wrong model path", "ambiguous flag", "unsupported layout", "proxy"],
)
def test_what_sglang_says_itself(clone: Clone, host: LabHost, port: int, fails: str, id_: str, words: str) -> None:
    verdict = deploying(clone, port, STANDIN_FAILS=fails).report().verdict

    assert verdict is not None and (verdict.kind, verdict.id) == ("failed", id_), verdict
    assert words in verdict.sentence
    assert seen.servers(host) == []


@pytest.fixture
def up(clone: Clone, port: int) -> Clone:
    clone.profile("small", port, **EIGHT, environment={"STANDIN_PAUSE": "10"})
    clone.ok(*SMALL)
    return clone


def watching(up: Clone) -> Watching:
    """`inv watch`, attached."""
    found = Watching(up, "--host", "lab", "--name", "small@lab")
    found.said("watching 8 ranks")
    found.said("generation: 200")
    return found


def lost(watch: Watching, fault: str, since: float) -> str:
    """What `inv watch` says first of the loss, soon after it."""
    line = watch.said("lost: ", SOON)
    print(f"{fault}: said after {line['read'] - since:.2f} s")
    return str(line["text"])


@pytest.mark.parametrize(
    ("victim", "words"),
    [
        (lambda host: seen.titled(host, "sglang::scheduler_PP1_TP3"), "PP1 TP3 on lab died"),
        (lambda host: seen.mains(host)[0], "main on lab was killed by SIGKILL from outside"),
    ],
    ids=["rank", "main"],
)
def test_killed_when_up(up: Clone, host: LabHost, victim: Callable[[LabHost], int], words: str) -> None:
    watch = watching(up)

    killed = seen.kill(victim(host))

    assert words in lost(watch, "killed when up", killed)
    code, last = watch.end()
    assert (code, last["left"]) == (6, [])
    assert seen.servers(host) == []


def test_the_link_cut_when_up_and_the_host_crashed(up: Clone, linked: list[LabHost]) -> None:
    watch, host = watching(up), linked[0]

    cut = time.time()
    host.cut()
    try:
        line = watch.said("connection lost", SOON)
    finally:
        host.heal()
    print(f"link cut: said after {line['read'] - cut:.2f} s")
    assert "the server goes on by itself" in line["text"]
    watch.said("connected again")
    crashed = time.time()
    host.crash()
    print(f"host crashed: said after {watch.said('connection lost', SOON)['read'] - crashed:.2f} s")
    host.boot()
    code, last = watch.end()
    assert (code, last["id"]) == (6, "restarted")
    assert disk(host).exists()
    eventually(lambda: not seen.servers(host))
