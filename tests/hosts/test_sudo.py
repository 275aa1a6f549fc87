"""A host where one logs in as an ordinary user and is root by sudo without a password."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from roles.lab.host import LabHost
from roles.lab.written import entry
from tests.hosts import seen
from tests.hosts.clone import Clone
from tests.hosts.reach import OWN_KEYS, add_user, second_sshd, shell

pytestmark = pytest.mark.hosts
RULE = "/etc/sudoers.d/allranks-test"
SMALL = ("--host", "lab1", "--profile", "small")


@pytest.fixture
def sudoer(clone: Clone, linked: list[LabHost], tmp_path: Path) -> Iterator[LabHost]:
    """The first host, where `grace` may log in; nobody is allowed sudo yet."""
    host = linked[0]
    if not shutil.which("sudo") or host.record.holder:
        pytest.skip("sudo is not installed, or cannot become root in a lab of an ordinary user")
    add_user(host, "grace")
    shell(host, "rm -rf ~grace/.allranks")  # of tests in which grace does without
    with second_sshd(host, tmp_path, OWN_KEYS) as way:
        clone.hosts({"lab1": {**entry(host.folder, host), **way, "user": "grace", "sudo": True}})
        yield host
        shell(host, f"rm -f {RULE}")


def test_everything_is_done_as_root_and_nothing_is_left_with_the_user(clone: Clone, sudoer: LabHost) -> None:
    shell(sudoer, f"echo 'grace ALL=(ALL) NOPASSWD: ALL' >{RULE}; chmod 440 {RULE}")

    clone.ok("check", *SMALL)
    clone.ok("deploy", *SMALL)

    (main,) = seen.mains(sudoer)
    assert Path(f"/proc/{main}").stat().st_uid == 0
    assert len(seen.runs(sudoer)) == 1  # in root's home
    assert shell(sudoer, "find ~grace -name '.allranks'") == ""
    assert clone.ok("status", "--json").json["deployments"][0]["state"] == "up"
    assert "Load weight" in clone.ok("logs", "--lines", "0").out
    clone.ok("teardown")
    assert seen.servers(sudoer) == []


def test_a_sudo_that_asks_for_a_password_is_told_and_nothing_is_done(clone: Clone, sudoer: LabHost) -> None:
    refused = clone.inv("deploy", *SMALL)

    assert refused.code == 3, refused.said
    assert "lab1: sudo -n does not work: sudo: " in refused.err and "NOPASSWD" in refused.err
    assert seen.runs(sudoer) == {}


def test_a_sudoer_on_another_port_behind_two_jump_hosts_is_deployed_to(
    clone: Clone, linked: list[LabHost], port: int, tmp_path: Path
) -> None:
    near, middle, far = linked
    if not shutil.which("sudo") or far.record.holder:
        pytest.skip("sudo is not installed, or cannot become root in a lab of an ordinary user")
    add_user(far, "grace")
    shell(far, f"echo 'grace ALL=(ALL) NOPASSWD: ALL' >{RULE}; chmod 440 {RULE}")
    told = {host.name: entry(host.folder, host) for host in linked}
    try:
        with second_sshd(far, tmp_path, OWN_KEYS) as way:
            clone.hosts(
                {
                    "lab1": told["lab1"],
                    "lab2": {**told["lab2"], "jump": "lab1"},
                    "lab3": {**told["lab3"], **way, "user": "grace", "sudo": True, "jump": "lab2"},
                }
            )
            clone.ok("deploy", "--host", "lab3", "--profile", "small")
            assert len(seen.mains(far)) == 1
            assert [seen.mains(host) for host in (near, middle)] == [[], []]
            assert clone.ok("status", "--json").json["deployments"][0]["state"] == "up"
            clone.ok("teardown")
            assert seen.servers(far) == []
    finally:
        shell(far, f"rm -f {RULE}")
