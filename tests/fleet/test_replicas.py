"""The same profile on several hosts, each a deployment of its own: all report, and a failure stops what follows."""

from __future__ import annotations

import json
import signal

import pytest

from roles.lab.host import LabHost
from tests.hosts.clone import Clone, Done, eventually, finished

ALL = "lab1,lab2,lab3"
pytestmark = pytest.mark.hosts


@pytest.fixture
def replica(clone: Clone, port: int) -> Clone:
    """A clone with the profile `one`: one rank a replica."""
    return clone.profile("one", port, layout={"tp": 1})


def deploy(clone: Clone, *options: str, host: str = ALL) -> Done:
    return clone.inv("deploy", "--host", host, "--profile", "one", "--json", *options, timeout=120)


def outcomes(done: Done) -> dict[str, str]:
    """Host -> what became of its replica."""
    return {row["host"]: row["outcome"] for row in done.json["replicas"]}


def loading(host: LabHost) -> bool:
    """Whether its server has begun to load."""
    return "Load weight begin" in host.exec(["sh", "-c", "cat /root/.allranks/runs/*/server.log"]).stdout


def runs(clone: Clone) -> dict[str, str]:
    """Deployment -> the run that is up."""
    found = clone.inv("status", "--host", ALL, "--json").json["deployments"]
    return {row["deployment"]: row["run"] for row in found if row["state"] == "up"}


def test_each_host_gets_a_deployment_of_its_own_and_all_report(replica: Clone) -> None:
    done = deploy(replica, "--replicas")

    assert done.code == 0, done
    assert outcomes(done) == {"lab1": "up", "lab2": "up", "lab3": "up"}
    assert sorted(runs(replica)) == ["one@lab1", "one@lab2", "one@lab3"]
    again = deploy(replica, "--replicas")
    assert set(outcomes(again).values()) == {"unchanged"} and again.code == 0


def test_no_further_batch_begins_after_one_that_did_not_come_up(replica: Clone, hosts: list[LabHost]) -> None:
    hosts[1].exec(["mv", "/root/.allranks", "/root/away"])
    hosts[1].exec(["touch", "/root/.allranks"])  # no folder can be made there

    done = deploy(replica, "--replicas", "--batch", "1")

    assert outcomes(done) == {"lab1": "up", "lab2": "error", "lab3": "not reached"}
    assert done.code == 10
    tolerant = deploy(replica, "--replicas", "--batch", "1", "--max-failures", "1")
    assert outcomes(tolerant) == {"lab1": "unchanged", "lab2": "error", "lab3": "up"}
    assert deploy(replica, "--replicas", host="lab2").code == 11


def test_hosts_that_cannot_be_reached_do_not_keep_the_others_from_coming_up(
    replica: Clone, hosts: list[LabHost]
) -> None:
    hosts[1].crash()

    done = deploy(replica, "--replicas")

    assert outcomes(done) == {"lab1": "up", "lab2": "error", "lab3": "up"}
    row = next(row for row in done.json["replicas"] if row["host"] == "lab2")
    assert row["exit_code"] == 4 and row["sentence"].startswith("lab2: "), row
    assert done.code == 10


def test_a_rolling_change_replaces_each_only_when_the_one_before_it_is_up(replica: Clone, port: int) -> None:
    deploy(replica, "--replicas")
    before = runs(replica)
    replica.profile("one", port, layout={"tp": 1}, environment={"STANDIN_SECONDS": "1"})

    rolling = replica.inv("deploy", "--host", ALL, "--profile", "one", "--rolling", timeout=120)

    after = runs(replica)
    assert rolling.code == 0 and set(after) == set(before) and not set(after.values()) & set(before.values())
    told = [line.split("  ")[0] for line in rolling.err.splitlines()]
    assert [name for name, last in zip(told, [*told[1:], ""], strict=True) if name != last][:3] == [
        "one@lab1",
        "one@lab2",
        "one@lab3",
    ]
    assert set(outcomes(deploy(replica, "--rolling")).values()) == {"unchanged"}


def test_a_rolling_change_that_fails_on_the_first_leaves_the_others_as_they_are(replica: Clone, port: int) -> None:
    deploy(replica, "--replicas")
    before = runs(replica)
    replica.profile("one", port, layout={"tp": 1}, environment={"STANDIN_EXIT": "1"})

    done = deploy(replica, "--rolling")

    assert outcomes(done) == {"lab1": "not up", "lab2": "not reached", "lab3": "not reached"}
    assert runs(replica) == {name: run for name, run in before.items() if name != "one@lab1"}


def test_ctrl_c_and_the_deadline_leave_every_server_as_it_is(replica: Clone, port: int, hosts: list[LabHost]) -> None:
    replica.profile("one", port, layout={"tp": 1}, environment={"STANDIN_HOLD": "loading"})
    rolling = replica.start("deploy", "--host", ALL, "--profile", "one", "--replicas")
    eventually(lambda: all(loading(host) for host in hosts), within=60)

    rolling.send_signal(signal.SIGINT)

    assert finished(rolling).code == 130
    late = deploy(replica, "--replicas", "--deadline", "2")
    assert set(outcomes(late).values()) == {"error"} and late.code == 11
    assert "not up within its deadline of 2 s" in late.out
    states = replica.inv("status", "--host", ALL, "--json").json["deployments"]
    assert [row["state"] for row in states] == ["loading"] * 3


def test_the_options_that_say_nothing_without_replicas_are_refused(replica: Clone) -> None:
    done = replica.inv("deploy", "--host", "lab1", "--profile", "one", "--batch", "2")

    assert (done.code, done.err) == (
        2,
        "allranks: --batch, --max-failures and --deadline are for replicas; add --replicas\n",
    )


def test_all_of_a_group_is_torn_down_and_whoever_did_not_answer_is_told(replica: Clone, hosts: list[LabHost]) -> None:
    deploy(replica, "--replicas")
    hosts[1].crash()

    read = replica.inv("logs", "--host", ALL, "--all", "--lines", "40", "--json")
    told = [json.loads(line) for line in read.out.splitlines()]
    assert {row["host"] for row in told if "text" in row} == {"lab1", "lab3"} and read.code == 10
    assert [row["host"] for row in told if "no answer" in row.get("note", "")] == ["lab2"]
    some = replica.inv("teardown", "--host", ALL, "--all", "--json", timeout=120)

    assert some.code == 10 and (some.json["stopped"], some.json["of"]) == (2, 3), some
    assert {row["host"]: row["outcome"] for row in some.json["deployments"]}["lab2"] == "no answer"
    hosts[1].boot()
    rest = replica.inv("teardown", "--host", ALL, "--all")
    assert rest.code == 0 and "lab2" in rest.out, rest
    assert "nothing of ours runs" in replica.ok("teardown", "--host", ALL, "--all").out


def test_a_host_with_two_names_is_one_to_a_teardown_of_everything(replica: Clone) -> None:
    replica.ok("deploy", "--host", "lab", "--profile", "one", timeout=120)

    done = replica.ok("teardown", "--host", "lab1", "--all", "--json")

    assert [(row["deployment"], row["outcome"]) for row in done.json["deployments"]] == [("one@lab", "stopped")]


def test_everything_is_torn_down_only_where_the_hosts_are_named_and_no_deployment_reaches_further(
    replica: Clone, port: int
) -> None:
    replica.profile("two", port, layout={"tp": 1, "pp": 2, "nnodes": 2})
    replica.ok("deploy", "--host", "lab1,lab2", "--profile", "two", timeout=120)

    assert replica.inv("teardown", "--all").code == 2
    beyond = replica.inv("teardown", "--host", "lab1", "--all")
    assert beyond.code == 2 and "two@lab1,lab2 also runs on lab2" in beyond.err
    assert replica.inv("teardown", "--host", "lab1,lab2", "--all").code == 0
