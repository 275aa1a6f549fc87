"""Two operators and one host: one changes it, the other is told who, and a crash leaves nothing behind for ever."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from roles.lab.host import LabHost
from roles.lab.written import entry
from tests.hosts.clone import Clone, eventually, finished
from tests.hosts.reach import OWN_KEYS, add_user, second_sshd

New = Callable[[str], Clone]
pytestmark = pytest.mark.hosts


@pytest.fixture
def ada(new_clone: New, hosts: list[LabHost], port: int) -> Clone:
    """An operator whose deployment stays at loading until the file go-PORT is there."""
    return _operator(new_clone, hosts, "ada").profile("slow", port, environment={"STANDIN_HOLD": "loading"})


@pytest.fixture
def bob(new_clone: New, hosts: list[LabHost], port: int) -> Clone:
    """Another, with another profile on the same port."""
    return _operator(new_clone, hosts, "bob").profile("other", port)


def _operator(new_clone: New, hosts: list[LabHost], name: str) -> Clone:
    clone = new_clone(name).hosts(hosts)
    clone.environment |= {"USER": name, "LOGNAME": name}
    return clone


def leased(clone: Clone) -> bool:
    """Whether a lease stands on lab1 (it is looked at, not taken: no such deployment)."""
    return "no lease stands" not in clone.ok("unlock", "--host", "lab1", "--name", "nothing", "--json").out


def loading(host: LabHost) -> bool:
    """Whether a server was started there."""
    return "Load weight begin" in host.exec(["sh", "-c", "cat /root/.allranks/runs/*/server.log"]).stdout


def test_of_two_who_deploy_in_the_same_second_one_wins_and_the_other_is_told_who(
    ada: Clone, bob: Clone, host: LabHost, port: int
) -> None:
    first, second = (
        ada.start("deploy", "--host", "lab1", "--profile", "slow"),
        bob.start("deploy", "--host", "lab1", "--profile", "other"),
    )
    eventually(lambda: second.poll() is not None or first.poll() is not None, within=60)

    host.exec(["touch", f"/root/go-{port}"])
    ends = {"ada": finished(first), "bob": finished(second)}

    assert sorted(end.code for end in ends.values()) == [0, 3], ends
    winner, loser = sorted(ends, key=lambda name: ends[name].code)
    said = ends[loser].err
    assert f"lab1: port {port} is being changed by {winner}@" in said, said
    assert "since 20" in said and "deploying" in said and "inv unlock --host lab1" in said


def test_the_second_waits_when_told_to_and_then_has_its_turn(ada: Clone, bob: Clone, host: LabHost, port: int) -> None:
    first = ada.start("deploy", "--host", "lab1", "--profile", "slow")
    eventually(lambda: loading(host), within=60)
    second = bob.start("deploy", "--host", "lab1", "--profile", "other", "--wait", "60", "--replace")
    refused = bob.inv("teardown", "--host", "lab1", "--name", "slow@lab1")
    assert refused.code == 3 and "ada@" in refused.err, refused

    host.exec(["touch", f"/root/go-{port}"])

    assert finished(first).code == 0
    waited = finished(second)
    assert waited.code == 0, waited
    assert f"waiting for lab1: port {port} is being changed by ada@" in waited.err


def test_the_lease_of_a_command_that_was_killed_is_taken_over_by_name(ada: Clone, bob: Clone, host: LabHost) -> None:
    first = ada.start("deploy", "--host", "lab1", "--profile", "slow")
    eventually(lambda: loading(host), within=60)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()

    refused = bob.inv("deploy", "--host", "lab1", "--profile", "other", "--replace")
    assert refused.code == 3 and "ada@" in refused.err, refused
    taken = bob.ok("unlock", "--host", "lab1")
    assert "lab1: taken from ada@" in taken.out

    assert bob.inv("deploy", "--host", "lab1", "--profile", "other", "--replace").code == 0


@pytest.mark.slow
def test_the_lease_of_a_command_that_was_killed_ends_by_itself(ada: Clone, bob: Clone, host: LabHost) -> None:
    first = ada.start("deploy", "--host", "lab1", "--profile", "slow")
    eventually(lambda: loading(host), within=60)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()

    done = bob.inv("deploy", "--host", "lab1", "--profile", "other", "--replace", "--wait", "60", timeout=120)

    assert done.code == 0, done


def test_a_command_whose_lease_was_taken_over_goes_on_watching_and_changes_nothing(
    ada: Clone, bob: Clone, host: LabHost
) -> None:
    first = ada.start("deploy", "--host", "lab1", "--profile", "slow")
    eventually(lambda: loading(host), within=60)

    bob.ok("unlock", "--host", "lab1")
    bob.ok("deploy", "--host", "lab1", "--profile", "other", "--replace")

    watched = finished(first)
    assert watched.code in (5, 6), watched
    assert "other@lab1" in bob.ok("status", "--host", "lab1").out


def test_a_server_that_is_slow_to_stop_keeps_nobody_from_starting_another_beside_it(
    ada: Clone, bob: Clone, host: LabHost, port: int
) -> None:
    ada.profile("deaf", port, environment={"STANDIN_DEAF": "1"}, timeouts={"stop": 40})
    bob.profile("beside", port + 200)
    ada.ok("deploy", "--host", "lab1", "--profile", "deaf")
    stopping = ada.start("teardown", "--host", "lab1", "--name", "deaf@lab1")
    eventually(lambda: '"stopping"' in host.exec(["sh", "-c", "cat /dev/shm/allranks-leases/*"]).stdout, within=20)

    bob.ok("deploy", "--host", "lab1", "--profile", "beside", timeout=30)

    assert stopping.poll() is None
    assert finished(stopping, 90).code == 0
    assert "beside@lab1" in bob.ok("status", "--host", "lab1").out


def test_two_deployments_that_share_nothing_are_made_side_by_side(
    ada: Clone, bob: Clone, host: LabHost, port: int
) -> None:
    bob.profile("beside", port + 200)
    first = ada.start("deploy", "--host", "lab1", "--profile", "slow")
    eventually(lambda: loading(host), within=60)

    bob.ok("deploy", "--host", "lab1", "--profile", "beside")
    bob.ok("teardown", "--host", "lab1", "--name", "beside@lab1")

    host.exec(["touch", f"/root/go-{port}"])
    assert finished(first).code == 0


def test_operators_who_log_in_as_different_users_see_each_other_s_leases(
    ada: Clone, bob: Clone, host: LabHost, port: int, tmp_path: Path
) -> None:
    add_user(host, "grace")
    with second_sshd(host, tmp_path, OWN_KEYS) as way:
        bob.hosts({"lab1": {**entry(host.folder, host), **way, "user": "grace"}})
        first = ada.start("deploy", "--host", "lab1", "--profile", "slow")
        eventually(lambda: loading(host), within=60)

        refused = bob.inv("deploy", "--host", "lab1", "--profile", "other")
        taken = bob.ok("unlock", "--host", "lab1")

        host.exec(["touch", f"/root/go-{port}"])
        assert refused.code == 3 and f"lab1: port {port} is being changed by ada@" in refused.err, refused
        assert "lab1: taken from ada@" in taken.out
        watched = finished(first)
        assert watched.code == 0 and "taken over by bob@" in watched.err, watched
