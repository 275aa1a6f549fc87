"""The link is cut, or the operator goes away: the server goes on, and whoever comes back finds it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import pytest

from roles.lab.host import LabHost
from tests.faults.watched import Watched
from tests.hosts import seen
from tests.hosts.clone import Clone, Lines, eventually, finished
from tests.hosts.labs import disk

pytestmark = pytest.mark.hosts
SMALL = ("deploy", "--host", "lab", "--profile", "small")


def test_a_link_cut_during_loading_is_told_and_the_log_goes_on_at_the_same_byte(
    clone: Clone, linked: list[LabHost], port: int
) -> None:
    host = linked[0]
    clone.profile("small", port, environment={"STANDIN_HOLD": "loading"})
    watched = Watched(clone.root, "lab", "small")
    watched.until(lambda board: board.nodes[0].main_alive)
    eventually(lambda: seen.mains(host))
    host.cut()
    try:
        watched.until(lambda board: not board.nodes[0].connected)
        (disk(host) / f"go-{port}").touch()  # it loads on while nobody can see it
        eventually(lambda: "ready to roll" in next(disk(host).glob(".allranks/runs/*/server.log")).read_text())
    finally:
        host.heal()

    report = watched.report()

    assert report.up
    told = [change.text for change in watched.changes if "connect" in change.text]
    assert len(told) == 2, told
    assert told[0].startswith("connection lost")
    assert told[1] == "connected again"
    kept = (clone.root / f"runs/{report.run}/node0.log").read_bytes()
    log = (seen.run_folder(host, report.run) / "server.log").read_bytes()
    assert log.startswith(kept)
    assert b"ready to roll" in kept
    eventually(lambda: not seen.onhosts(host), within=70)  # the follower that was cut off ends by itself


def test_following_the_log_goes_on_after_a_cut_with_no_line_twice_and_none_missing(
    clone: Clone, linked: list[LabHost], port: int
) -> None:
    host = linked[0]
    clone.profile("small", port, environment={"STANDIN_CHATTER": "0.5"})
    clone.ok(*SMALL)
    following = clone.start("logs", "--follow", "--lines", "1", "--json")
    lines = Lines(following)
    lines.until("#new-token")
    host.cut()
    try:
        lines.until('"note"')
    finally:
        host.heal()
    lines.until("connected again")
    for _ in range(20):
        lines.next()
    os.killpg(following.pid, signal.SIGINT)

    following.wait(20)
    texts = [line["text"] for line in map(json.loads, lines.said) if "text" in line]
    log = next(disk(host).glob(".allranks/runs/*/server.log")).read_text().splitlines()
    starts = [i for i in range(len(log)) if all(a.endswith(b) for a, b in zip(log[i:], texts, strict=False))]
    assert len(starts) >= 1, texts


def test_ctrl_c_leaves_the_server_and_a_second_deploy_goes_on_with_it(
    clone: Clone, host: LabHost, port: int, new_clone: Callable[[str], Clone], hosts: list[LabHost]
) -> None:
    environment = {"STANDIN_HOLD": "loading"}
    clone.profile("small", port, environment=environment)
    deploying = clone.start(*SMALL)
    (main,) = eventually(lambda: seen.mains(host))
    eventually(lambda: seen.onhosts(host))

    os.killpg(deploying.pid, signal.SIGINT)

    stopped = finished(deploying)
    assert stopped.code == 130
    assert "left as it is" in stopped.err
    assert "Traceback" not in stopped.err
    eventually(lambda: not seen.onhosts(host))
    assert seen.mains(host) == [main]
    status = clone.inv("status", "--json")
    assert (status.code, status.json["deployments"][0]["state"]) == (7, "loading")
    assert "left loading (Ctrl-C)" in clone.ok("history").out

    colleague = new_clone("colleague").hosts(hosts).profile("small", port, environment=environment)
    second = colleague.start(*SMALL, "--json")
    eventually(lambda: seen.onhosts(host))
    (disk(host) / f"go-{port}").touch()
    done = finished(second)

    assert done.code == 0, done.said
    assert done.json["up"] is True
    assert seen.mains(host) == [main]
    assert "loading already" in done.err


def test_a_killed_deploy_leaves_the_server_and_status_finds_it(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_HOLD": "loading"})
    deploying = clone.start(*SMALL)
    mains = eventually(lambda: seen.mains(host))
    eventually(lambda: seen.onhosts(host))

    os.killpg(deploying.pid, signal.SIGKILL)
    finished(deploying)

    eventually(lambda: not seen.onhosts(host))
    assert seen.mains(host) == mains
    (disk(host) / f"go-{port}").touch()
    done = clone.ok(*SMALL, "--json", timeout=90)  # the lease of the killed command ends by itself
    assert done.json["up"] is True
    assert seen.mains(host) == mains
