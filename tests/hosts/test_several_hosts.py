"""One deployment on two hosts: one board, one teardown; a failure on one host leaves nothing on the other."""

from __future__ import annotations

import pytest

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.clone import Clone, eventually
from tests.hosts.labs import disk

pytestmark = pytest.mark.hosts
PAIR = ("deploy", "--host", "lab1,lab2", "--profile", "pair")


@pytest.fixture
def pair(clone: Clone, port: int) -> Clone:
    """A profile of two nodes: PP0 on the first host, PP1 on the second."""
    return clone.profile("pair", port, layout={"tp": 2, "pp": 2, "nnodes": 2}, dist_port=port + 200)


def test_each_host_has_its_pipeline_stage_and_one_teardown_ends_both(pair: Clone, hosts: list[LabHost]) -> None:
    report = pair.ok(*PAIR, "--json").json

    first, second, _ = hosts
    assert report["hosts"] == ["lab1", "lab2"]
    for host, stage in ((first, 0), (second, 1)):
        for tp in (0, 1):
            assert seen.titled(host, f"sglang::scheduler_PP{stage}_TP{tp}")
        assert (pair.root / f"runs/{report['run']}/node{stage}.log").exists()
    (row,) = pair.ok("status", "--json").json["deployments"]
    assert (row["hosts"], row["living"]) == (["lab1", "lab2"], 4)
    (seen_from_one,) = pair.ok("status", "--host", "lab2", "--json").json["deployments"]
    assert seen_from_one["living"] == 4  # the run says which hosts it spans: they are asked too
    merged = pair.ok("logs", "--lines", "0").out
    assert "lab1 PP0 TP1" in merged
    assert "lab2 PP1 TP1" in merged

    pair.ok("teardown")

    assert seen.servers(first) == seen.servers(second) == []


def test_a_start_that_fails_on_one_host_is_undone_on_the_other(pair: Clone, hosts: list[LabHost], port: int) -> None:
    pair.profile("pair", port, layout={"tp": 2, "pp": 2, "nnodes": 2}, dist_port=port + 200, log="/tmp/server-log")
    assert hosts[1].exec(["mkdir", "/tmp/server-log"]).returncode == 0  # there the link to the log cannot be made

    failed = pair.inv(*PAIR)

    assert failed.code == 3
    assert "lab2: /tmp/server-log" in failed.err
    assert seen.servers(hosts[0]) == seen.servers(hosts[1]) == []


def test_an_unreachable_second_host_is_told_before_anything_is_started(pair: Clone, hosts: list[LabHost]) -> None:
    hosts[1].sshd_stop()

    failed = pair.inv(*PAIR)

    assert failed.code == 4
    assert "lab2" in failed.err
    assert "sshd" in failed.err
    assert not (disk(hosts[0]) / ".allranks/runs").exists() or seen.runs(hosts[0]) == {}


def test_a_teardown_with_one_host_silent_stops_the_other_and_says_what_may_be_left(
    pair: Clone, hosts: list[LabHost]
) -> None:
    pair.ok(*PAIR)
    hosts[1].sshd_stop()

    half = pair.inv("teardown")

    assert half.code == 4
    assert "lab2" in half.err
    assert seen.servers(hosts[0]) == []
    hosts[1].sshd_start()
    (row,) = pair.inv("status", "--json").json["deployments"]
    assert "lab1 is stopped already" in row["sentence"]
    pair.ok("teardown")
    assert seen.servers(hosts[1]) == []


def test_a_run_with_a_node_elsewhere_is_not_replaced_by_a_plan_that_cannot_reach_it(
    pair: Clone, hosts: list[LabHost], port: int
) -> None:
    pair.ok(*PAIR)
    for host in hosts[:2]:  # the deploy's own program ends a moment after the command
        eventually(lambda host=host: not seen.onhosts(host))  # type: ignore[misc]
    before = seen.processes(hosts[0]), seen.processes(hosts[1])

    refused = pair.inv("deploy", "--host", "lab1", "--profile", "small", "--set", f"port={port}", "--replace")

    assert refused.code == 3, refused.said
    assert "also runs on lab2" in refused.err and "inv teardown --name pair@lab1,lab2" in refused.err
    for host in hosts[:2]:
        eventually(lambda host=host: not seen.onhosts(host))  # type: ignore[misc]
    assert (seen.processes(hosts[0]), seen.processes(hosts[1])) == before


def test_hosts_on_which_nothing_runs_are_said_to_be_so(pair: Clone, hosts: list[LabHost]) -> None:
    hosts[1].crash()

    logs = pair.inv("logs", "--host", "lab1,lab2", "--all")
    diff = pair.inv("diff", "--host", "lab1", "--profile", "small")

    assert (logs.code, logs.err) == (10, "nothing of ours runs on lab1\n")
    assert logs.out.count("lab2: ") == 1 and "-- lab2: no answer: " in logs.out
    assert diff.code == 2 and diff.err.endswith("(nothing of ours does); inv status --host lab1\n"), diff.said
