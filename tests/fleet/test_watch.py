"""`inv watch` stays with a deployment over two hosts and says at once which rank was lost, where and why."""

from __future__ import annotations

import json
import signal
import time

import pytest

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.clone import Clone
from tests.hosts.labs import disk
from tests.hosts.watching import Watching

pytestmark = pytest.mark.hosts


@pytest.fixture
def up(clone: Clone, port: int) -> Clone:
    """tp 2 x pp 2 over lab1 and lab2, up."""
    clone.profile("two", port, layout={"tp": 2, "pp": 2, "nnodes": 2})
    clone.ok("deploy", "--host", "lab1,lab2", "--profile", "two", timeout=120)
    return clone


def watching_two(up: Clone, *options: str) -> Watching:
    """`inv watch` of the deployment."""
    return Watching(up, "--host", "lab1", "--name", "two@lab1,lab2", *options)


def rank_pid(clone: Clone, host: LabHost, title: str) -> int:
    """The pid, in the host, of a rank."""
    return int(host.exec(["pgrep", "-f", title]).stdout.split()[0])


def nothing_runs(host: LabHost) -> bool:
    return "sglang" not in host.exec(["ps", "-eo", "args"]).stdout


def test_a_rank_killed_on_the_second_host_is_named_and_the_rest_is_stopped(up: Clone, hosts: list[LabHost]) -> None:
    watching = watching_two(up)
    watching.said("watching 4 ranks on lab1, lab2")
    time.sleep(2)
    pid = rank_pid(up, hosts[1], "sglang::scheduler_PP1_TP1")

    killed = time.time()
    hosts[1].exec(["kill", "-9", str(pid)])

    said = watching.said("lost: ")
    assert "PP1 TP1 on lab2" in said["text"] and time.time() - killed < 15, said
    code, last = watching.end()
    assert (code, last["kind"], last["rank"], last["host"], last["left"]) == (6, "lost", "PP1 TP1", "lab2", [])
    assert nothing_runs(hosts[0]) and nothing_runs(hosts[1])
    record = next((up.root / "runs").iterdir())
    assert json.loads((record / "record.json").read_text())["result"] == "lost"
    assert "Load weight" in (record / "node0.log").read_text() and "Load weight" in (record / "node1.log").read_text()


def test_what_is_left_is_kept_when_that_was_asked_for(up: Clone, hosts: list[LabHost]) -> None:
    watching = watching_two(up, "--keep-on-loss")
    watching.said("watching 4 ranks")
    time.sleep(2)
    hosts[1].exec(["kill", "-9", str(rank_pid(up, hosts[1], "sglang::scheduler_PP1_TP0"))])

    code, last = watching.end()

    assert (code, last["rank"]) == (6, "PP1 TP0")
    assert not nothing_runs(hosts[0])


def test_ctrl_c_leaves_the_server_as_it_is(up: Clone) -> None:
    watching = watching_two(up)
    watching.said("watching 4 ranks")

    watching.process.send_signal(signal.SIGINT)

    assert watching.process.wait(20) == 130
    assert up.ok("status", "--host", "lab1", "--json").json["deployments"][0]["state"] == "up"


def test_a_cut_link_is_said_and_is_no_loss(up: Clone, linked: list[LabHost]) -> None:
    watching = watching_two(up)
    watching.said("watching 4 ranks")
    time.sleep(2)

    followers, cut = seen.onhosts(linked[1]), time.time()
    linked[1].cut()
    try:
        lost = watching.said("connection lost (nothing heard for 2 s)", within=60)
    finally:
        linked[1].heal()

    print(f"a cut link was said after {lost['read'] - cut:.2f} s")
    assert lost["host"] == "lab2" and "the server goes on by itself" in lost["text"]
    watching.said("connected again", within=60)
    assert seen.onhosts(linked[1]) == followers  # so short a cut makes nothing anew
    assert watching.process.poll() is None


def test_what_is_lost_already_is_said_at_once(up: Clone, hosts: list[LabHost]) -> None:
    hosts[1].exec(["kill", "-9", str(rank_pid(up, hosts[1], "sglang::scheduler_PP1_TP0"))])
    time.sleep(3)

    code, last = watching_two(up).end()

    assert code == 6 and "on lab2 died" in last["sentence"] and "None" not in last["sentence"], last
    assert nothing_runs(hosts[0]) and nothing_runs(hosts[1])


def test_a_silent_death_is_looked_into_and_the_kernels_word_for_it_is_told(up: Clone, hosts: list[LabHost]) -> None:
    """A control group that can be written to stands for the kernel's: no lab host may make a real one."""
    (state,) = (disk(hosts[1]) / ".allranks/runs").glob("*/state.json")
    group = {"version": 2, "folder": "/root/group", "oom_kill": 0}
    state.write_text(json.dumps({**json.loads(state.read_text()), "memory": group}))
    (disk(hosts[1]) / "group").mkdir()
    watching = watching_two(up)
    watching.said("watching 4 ranks")
    (disk(hosts[1]) / "group/memory.events").write_text("max 7\noom_kill 1\n")
    hosts[1].exec(["kill", "-9", str(rank_pid(up, hosts[1], "sglang::scheduler_PP1_TP0"))])

    first = watching.said("lost: PP1 TP0 on lab2 ")["text"]
    code, last = watching.end()

    assert "died" in first or "gone" in first
    assert (code, last["id"], last["rank"]) == (6, "oom-kill", "PP1 TP0")
    assert last["sentence"] == "PP1 TP0 on lab2 was killed by the kernel for lack of memory"
    assert "1 since the start" in last["cause"]


def test_a_stopped_rank_is_said_with_what_wakes_it_and_is_no_loss(up: Clone, hosts: list[LabHost]) -> None:
    watching = watching_two(up)
    watching.said("watching 4 ranks")
    pid = rank_pid(up, hosts[1], "sglang::scheduler_PP1_TP0")

    hosts[1].exec(["kill", "-STOP", str(pid)])

    assert (
        watching.said("stopped by a signal")["text"]
        == f"process stopped by a signal; kill -CONT {pid} on lab2 wakes it"
    )
    assert watching.process.poll() is None


def test_a_host_that_was_restarted_is_a_loss_told_as_that(up: Clone, hosts: list[LabHost]) -> None:
    watching = watching_two(up)
    watching.said("watching 4 ranks")
    time.sleep(1)

    hosts[1].crash()
    assert "unless lab2 itself is down" in watching.said("connection lost")["text"]
    hosts[1].boot()

    code, last = watching.end()
    assert (code, last["id"], last["host"]) == (6, "restarted", "lab2")
    assert last["sentence"] == "lab2 was restarted: nothing of the server is left on it"


def test_a_stall_while_it_loads_is_said_and_waited_through(clone: Clone, hosts: list[LabHost], port: int) -> None:
    stages = {"loading": 2, "starting": 600}
    layout = {"tp": 2, "pp": 2, "nnodes": 2}
    environment = {"STANDIN_HOLD": "loading"}
    clone.profile("two", port, layout=layout, environment=environment, timeouts={"stop": 5, "stages": stages})
    deployed = clone.inv("deploy", "--host", "lab1,lab2", "--profile", "two", "--json")
    assert deployed.code == 7 and deployed.json["verdict"]["kind"] == "stalled", deployed.said

    watching = watching_two(clone)
    said = watching.said("nothing has moved for")["text"]
    for host in hosts:
        (disk(host) / f"go-{port}").touch()

    assert "behind at: weights loading" in said
    watching.said("generation: 200")
    assert watching.process.poll() is None
