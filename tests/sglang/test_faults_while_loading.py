"""The real SGLang is broken while it loads: one right sentence, the right exit code, nothing left. On real SSH hosts.

How long after the fault the sentence came is printed (`pytest -rP`); the limits here are for a busy machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import time

import pytest

from roles.lab.host import LabHost
from tests.check.provoke import small_disk
from tests.hosts import seen
from tests.hosts.clone import Clone, eventually, finished
from tests.hosts.labs import disk
from tests.hosts.reach import shell
from tests.sglang.broken import DEPLOY, PORT, log_of, nothing_is_left, took, two
from tests.sglang.real import OPT, UP, Told, listens

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]
SOON = 10.0  # seconds; measured: below one


def loading(clone: Clone, *words: str, until: str = "TP1  process started") -> Told:
    """A deploy of two ranks that has come so far."""
    running = Told(clone.start(*DEPLOY, *words))
    running.until(until)
    return running


def test_a_rank_killed_while_loading_is_named_with_its_signal(clone: Clone, real: list[LabHost]) -> None:
    running = loading(clone.profile("two", PORT, **two()))

    killed = seen.kill(seen.titled(real[0], "sglang::scheduler_TP1"))
    sentence = running.until("TP1 on lab died", SOON)
    assert took("rank killed while loading", killed) < SOON
    done = finished(running.process, 90)

    assert "killed by SIGKILL" in sentence
    assert (done.code, "two@lab is not up: TP1 on lab died" in done.out) == (5, True), done.said
    assert nothing_is_left(real[0])


def importing(host: LabHost) -> list[int]:
    """Main's spawned children that have no title yet, the oldest first: the schedulers in their order, and no more."""
    found = [pid for pid, argv in seen.processes(host).items() if any("multiprocessing.spawn" in word for word in argv)]
    return sorted(found)


@pytest.mark.parametrize("titled", [False, True], ids=["before it has its title", "as soon as it has its title"])
def test_a_rank_killed_before_anybody_has_seen_it_is_named_by_its_place(
    clone: Clone, real: list[LabHost], titled: bool
) -> None:
    running = loading(clone.profile("two", PORT, **two()), until="main started")
    eventually(lambda: len(importing(real[0])) >= 2, UP)
    if titled:
        eventually(lambda: ["sglang::scheduler_TP1"] in seen.servers(real[0]), UP)

    killed = seen.kill(seen.titled(real[0], "sglang::scheduler_TP1") if titled else importing(real[0])[1])
    sentence = running.until("TP1 on lab died", SOON)
    assert took("rank killed unseen", killed) < SOON

    assert "killed by SIGKILL" in sentence
    assert finished(running.process, 90).code == 5
    assert nothing_is_left(real[0])


def test_main_killed_while_loading_is_named(clone: Clone, real: list[LabHost]) -> None:
    running = loading(clone.profile("two", PORT, **two()))

    killed = seen.kill(seen.mains(real[0])[0])
    running.until("main on lab was killed by SIGKILL from outside", SOON)
    assert took("main killed while loading", killed) < SOON

    assert finished(running.process, 90).code == 5
    assert nothing_is_left(real[0])


def test_a_rank_frozen_while_loading_is_said_at_once_and_its_stall_names_it(clone: Clone, real: list[LabHost]) -> None:
    running = loading(clone.profile("two", PORT, **two(timeouts={"stop": 5, "stall": 8})))

    pid = seen.titled(real[0], "sglang::scheduler_TP1")
    os.kill(pid, signal.SIGSTOP)
    frozen = time.time()
    sentence = running.until("stopped by a signal", SOON)
    assert took("rank frozen while loading", frozen) < SOON
    done = finished(running.process, 120)
    os.kill(pid, signal.SIGCONT)

    assert "TP1" in sentence and "kill -CONT" in sentence and "on lab wakes it" in sentence
    assert (done.code, "TP1 on lab: stopped by a signal (state T" in done.out) == (7, True), done.said
    clone.ok("teardown", timeout=120)
    assert nothing_is_left(real[0])


def test_a_stranger_who_takes_the_port_while_it_loads_is_named_and_never_called_up(
    clone: Clone, real: list[LabHost]
) -> None:
    host = real[0]
    running = loading(clone.profile("two", PORT, **two()), until="main started")

    host.exec(["sh", "-c", f"cd /tmp && setsid python3 -m http.server {PORT} >/dev/null 2>&1 & sleep 0.1"])
    eventually(lambda: listens(host, PORT))
    taken = time.time()
    running.until("not to this run", SOON)
    assert took("port taken while loading", taken) < SOON
    done = finished(running.process, 120)

    assert (done.code, f"http.server {PORT}" in done.out) == (5, True), done.said
    assert seen.servers(host) == []
    again = clone.inv(*DEPLOY)
    assert again.code == 3 and f"http.server {PORT}" in again.err and "pid" in again.err


def test_a_model_path_that_is_wrong_is_refused_and_one_that_goes_away_is_named(
    clone: Clone, real: list[LabHost]
) -> None:
    host, model = real[0], disk(real[0]) / "model"
    path = str(model) if host.record.kind == "loopback" else "/root/model"
    clone.profile("two", PORT, **two(model=path))
    refused = clone.inv(*DEPLOY)
    assert refused.code == 3 and f"there is no model at {path}" in refused.err, refused.said
    shutil.copytree(OPT / "models/tiny-llama", model)

    running = loading(clone, until="main started")
    model.rename(model.with_name("gone"))
    eventually(lambda: "Repo id must be" in log_of(host), UP)
    fatal = time.time()
    running.until("the model path does not exist on this host", SOON)
    assert took("wrong model path, from SGLang's own words", fatal) < SOON
    done = finished(running.process, 120)

    assert (done.code, "check the path on every node" in done.out) == (5, True), done.said
    assert nothing_is_left(host)


def test_a_full_disk_below_the_log_is_named(clone: Clone, real: list[LabHost]) -> None:
    small_disk(real[0], "/root/.allranks", "size=300m")
    running = loading(clone.profile("two", PORT, **two()))

    shell(real[0], "cat /dev/zero >/root/.allranks/filler 2>/dev/null; sync /root/.allranks; true")
    filled = time.time()
    running.until("the disk on lab is full", SOON)
    assert took("disk full while loading", filled) < SOON
    done = finished(running.process, 120)

    assert (done.code, "free space there" in done.out) == (5, True), done.said
    assert nothing_is_left(real[0])
