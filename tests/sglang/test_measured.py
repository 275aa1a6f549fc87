"""inv topo --measure with the real torch on a lab host: Gloo between processes, which a machine without GPUs has."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator

import pytest

from roles.lab.host import LabHost
from tests.hosts import labs, seen
from tests.hosts.clone import REPOSITORY, Clone, eventually, finished
from tests.hosts.labs import disk

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]
OPT = REPOSITORY / ".lab/opt"
MEASURE = ("topo", "--host", "lab", "--profile", "small", "--measure")


@pytest.fixture(scope="module")
def real() -> Iterator[list[LabHost]]:
    if not (OPT / "stamp").exists():
        pytest.skip("SGLang is not installed for the lab: make test installs it, or inv lab.up --sglang")
    with labs.made("measured", 1, opt=OPT) as hosts:
        yield hosts


@pytest.fixture
def clone(new_clone: Callable[[str], Clone], real: list[LabHost], port: int) -> Iterator[Clone]:
    yield new_clone("measured").hosts(real).profile("small", port)
    labs.clean(real)


def left(host: LabHost) -> list[object]:
    """What a measurement could leave behind: processes, and the folder in which they meet."""
    measuring = [argv for argv in seen.processes(host).values() if any("measuring" in word for word in argv)]
    return [*measuring, *(disk(host) / ".allranks").glob("measure-*")]


def test_the_groups_of_the_profile_are_measured_and_the_figures_are_there_later(
    clone: Clone, real: list[LabHost]
) -> None:
    done = clone.ok(*MEASURE, timeout=120)

    assert "Gloo on the CPU: says nothing about GPUs" in done.out
    assert "all-reduce  PP0 TP0 to PP0 TP1  16 KiB" in done.out and "send        PP0 TP1 -> PP1 TP1" in done.out
    assert "PP1 TP0 to PP1 TP1 done" in done.err
    assert left(real[0]) == []
    later = clone.ok("topo", "--host", "lab", "--json").json["lab"]["measured"]
    assert (later["profile"], later["device"], later["world"]) == ("small", "cpu", 4)
    assert [group["what"] for group in later["groups"]] == ["all_reduce", "all_reduce", "p2p", "p2p"]
    for group in later["groups"]:
        assert [row["bytes"] for row in group["rows"]] == later["sizes"]
        assert all(row["seconds"] > 0 for row in group["rows"])


def test_the_processes_have_the_environment_of_the_plan(clone: Clone, port: int) -> None:
    clone.profile("small", port, environment={"GLOO_SOCKET_IFNAME": "none7", "GLOO_DEVICE_TRANSPORT": "NOT_THERE"})

    done = clone.inv(*MEASURE, timeout=120)

    assert done.code == 1 and re.search(r"process \d of the measurement ended with", done.err), done.said


def test_ctrl_c_leaves_nothing_behind(clone: Clone, real: list[LabHost]) -> None:
    running = clone.start(*MEASURE)
    assert running.stderr is not None and "meeting done" in running.stderr.readline()
    assert left(real[0])

    os.kill(running.pid, signal.SIGINT)

    assert finished(running).code == 130
    eventually(lambda: not left(real[0]))


def test_a_killed_program_on_the_host_leaves_nothing_behind(clone: Clone, real: list[LabHost]) -> None:
    running = clone.start(*MEASURE)
    assert running.stderr is not None and "meeting done" in running.stderr.readline()

    for pid, argv in seen.processes(real[0]).items():
        if any("onhost-" in word for word in argv) and "serve" in argv:
            seen.kill(pid)

    assert finished(running).code in (1, 4)
    eventually(lambda: not left(real[0]))


def test_a_measurement_that_takes_too_long_is_ended(clone: Clone, real: list[LabHost]) -> None:
    done = clone.inv(*MEASURE, "--limit", "1", timeout=120)

    assert done.code == 1 and "was not done within 1 s" in done.err
    assert left(real[0]) == []
