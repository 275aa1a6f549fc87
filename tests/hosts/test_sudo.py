"""A host where one logs in as an ordinary user and is root by sudo without a password."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roles.inventory.errors import Refused
from roles.lab.host import LabHost
from roles.lab.written import entry
from roles.remote import Remote
from tests.hosts import seen
from tests.hosts.clone import Clone
from tests.hosts.reach import OWN_KEYS, add_user, inventory_host, second_sshd, shell

pytestmark = pytest.mark.hosts
RULE = "/etc/sudoers.d/allranks-test"
SMALL = ("--host", "lab1", "--profile", "small")


def remote(host: LabHost, **fields: Any) -> Remote:
    """A connection to the host as an inventory with these fields has it."""
    return Remote(inventory_host(host, **fields))


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


def test_leases_lie_where_the_host_has_them_and_tell_where_the_login_is_from(
    linked: list[LabHost], tmp_path: Path
) -> None:
    """sudo passes on no variable of the login by itself. A csh would end at one that is not set."""
    host = linked[0]
    if not shutil.which("sudo") or host.record.holder:
        pytest.skip("sudo is not installed, or cannot become root in a lab of an ordinary user")
    add_user(host, "grace", shutil.which("csh") or "/bin/bash")
    shell(host, f"echo 'grace ALL=(ALL) NOPASSWD: ALL' >{RULE}; chmod 440 {RULE}; mkdir -p /var/shared")
    claim = {"id": "ada", "who": "ada@desk", "what": "deploying", "deployment": "a@h"}
    try:
        for line, place in (("SetEnv ALLRANKS_LEASES=/var/shared", "/var/shared"), ("SetEnv OTHER=1", "/dev/shm")):
            with second_sshd(host, tmp_path, OWN_KEYS, line) as way, remote(host, user="grace", sudo=True, **way) as at:
                asked = {"workdir": at.host.workdir, "gpus": False, "claim": claim}
                assert at.one("facts", asked, "facts")["lease"]["by"]["address"]
                assert "leases-" in shell(host, f"ls {place}/allranks-leases")
                at.ask("lease", {"workdir": at.host.workdir, "do": "drop", "id": "ada"})
    finally:
        shell(host, f"rm -rf {RULE} /var/shared")


def test_a_host_without_sudo_is_told_as_that(linked: list[LabHost], tmp_path: Path) -> None:
    host = linked[0]
    if host.record.holder:
        pytest.skip("users cannot be made here")
    add_user(host, "grace")
    shell(host, "mkdir -p /var/bare && ln -sf /bin/sh /var/bare/sh")
    lacking = second_sshd(host, tmp_path, OWN_KEYS, "SetEnv PATH=/var/bare")
    with lacking as way, remote(host, user="grace", sudo=True, **way) as at, pytest.raises(Refused) as told:
        at.one("facts", {"workdir": at.host.workdir, "gpus": False}, "facts")
    assert str(told.value).startswith("lab1: sudo cannot be run there: ") and "take `sudo` out" in told.value.do


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
