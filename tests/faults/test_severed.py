"""Node 1 of two is silent: for us alone, then nothing is touched; for node 0 too and for good, then it is lost."""

from __future__ import annotations

import subprocess

import pytest

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.clone import Clone, Lines, eventually, finished
from tests.hosts.labs import disk
from tests.hosts.reach import shell

pytestmark = [pytest.mark.hosts, pytest.mark.slow]
PAIR = ("deploy", "--host", "lab1,lab2", "--profile", "pair")
LAYOUT = {"tp": 2, "pp": 2, "nnodes": 2}


@pytest.fixture
def pair(clone: Clone, linked: list[LabHost], port: int) -> Clone:
    """A profile of two nodes that stays at loading until its file go-PORT is there."""
    return clone.profile(
        "pair", port, layout=LAYOUT, dist_port=port + 200, environment={"STANDIN_HOLD": "loading"}, timeouts={"stop": 5}
    )


def loading(host: LabHost) -> bool:
    """Whether a server was started there and loads."""
    return "Load weight begin" in host.exec(["sh", "-c", "cat /root/.allranks/runs/*/server.log"]).stdout


def go(hosts: list[LabHost], port: int) -> None:
    """Let the servers load on."""
    for host in hosts[:2]:
        (disk(host) / f"go-{port}").touch()


def without_sshd(host: LabHost) -> None:
    """No new login there, and those that were there are gone."""
    host.sshd_stop()
    shell(host, "for p in $(pgrep -f '^sshd: '); do kill -9 $p; done; true")


def test_a_link_cut_for_good_while_loading_ends_the_deploy_and_the_teardown_finishes_later(
    pair: Clone, linked: list[LabHost]
) -> None:
    deploying = pair.start(*PAIR)
    eventually(lambda: loading(linked[0]) and loading(linked[1]), within=60)
    linked[1].cut()
    try:
        done = finished(deploying, 120)
        assert done.code == 5, done.said
        assert "lab1 does not reach lab2 either" in done.err
        assert "PP1 TP0 on lab2: lab2 has not answered for" in done.out
        assert "NOT all of it could be stopped: lab2" in done.out and "inv teardown" in done.out
        assert seen.servers(linked[0]) == []
        half = pair.inv("teardown")
        assert half.code == 4 and "lab2" in half.err, half.said
    finally:
        linked[1].heal()

    assert seen.servers(linked[1]) != []
    pair.ok("teardown")
    assert seen.servers(linked[1]) == []
    (run,) = (pair.root / "runs").glob("*-pair-*")
    assert "Load weight begin" in (run / "node1.log").read_text()


def test_a_node_that_only_we_do_not_reach_is_waited_for(pair: Clone, linked: list[LabHost], port: int) -> None:
    deploying = pair.start(*PAIR)
    eventually(lambda: loading(linked[0]) and loading(linked[1]), within=60)
    without_sshd(linked[1])
    go(linked, port)
    with pytest.raises(subprocess.TimeoutExpired):
        deploying.wait(45)  # longer than a host that nobody reaches is waited for
    linked[1].sshd_start()

    done = finished(deploying, 60)

    assert done.code == 0, done.said
    assert "lab2  -  connection lost" in done.err and "connected again" in done.err
    assert "either" not in done.err


def test_a_watch_begun_while_a_node_is_silent_says_so_and_sees_that_node_when_it_is_back(
    pair: Clone, linked: list[LabHost], port: int
) -> None:
    deploying = pair.start(*PAIR)
    eventually(lambda: loading(linked[0]) and loading(linked[1]), within=60)
    go(linked, port)
    assert finished(deploying, 60).code == 0
    linked[1].sshd_stop()

    status = pair.inv("status", "--json")
    watching = pair.start("watch", "--keep-on-loss")
    lines = Lines(watching)
    lines.until("watching 4 ranks")
    lines.until("lab2  -  connection lost")
    linked[1].sshd_start()
    lines.until("lab2  -  connected again")
    lines.until("PP1 TP1  process started")
    seen.kill(seen.titled(linked[1], "sglang::scheduler_PP1_TP1"))
    lost = lines.until("lost: ")

    assert status.code == 4
    assert status.json["deployments"][0]["state"] == "up" and "lab2" in status.json["deployments"][0]["sentence"]
    assert "PP1 TP1 on lab2" in lost
    assert watching.wait(30) == 6
    assert seen.servers(linked[0]) != []


def test_a_link_cut_for_good_under_a_running_server_is_a_loss(pair: Clone, linked: list[LabHost], port: int) -> None:
    deploying = pair.start(*PAIR)
    eventually(lambda: loading(linked[0]) and loading(linked[1]), within=60)
    go(linked, port)
    assert finished(deploying, 60).code == 0
    watching = pair.start("watch")
    lines = Lines(watching)
    lines.until("watching 4 ranks")
    linked[1].cut()
    try:
        lines.until("lab1 does not reach lab2 either")
        (disk(linked[0]) / f"sick-{port}").touch()  # the real one's /health generates, with all its nodes
        assert "lab2 has not answered for" in lines.until("lost: ", 90)
        assert "not that of lab2" in lines.until("logs: ")
        assert "lab2" in lines.until("NOT all of it could be stopped")
        assert watching.wait(30) == 6
    finally:
        linked[1].heal()
    assert seen.servers(linked[0]) == []
    pair.ok("teardown")
    assert seen.servers(linked[1]) == []
