"""up and down: repeated, interrupted, side by side; and what they leave."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import roles.lab
from roles.inventory.errors import AllranksError, InputError, Refused
from roles.lab import LabHost
from roles.lab.commands import find
from roles.lab.kinds import decide
from roles.lab.process import Process, wait_until
from tests.lab.fixtures import CLONE

BringUp = Callable[..., list[LabHost]]

pytestmark = pytest.mark.hosts


def traces(host: LabHost) -> list[str]:
    """Everything on this machine that bears the lab's name or lies in its folder."""
    links = subprocess.check_output(["ip", "-o", "link"], text=True).splitlines()
    routes = subprocess.check_output(["ip", "-o", "route", "show", "table", "all"], text=True).splitlines()
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    subnet = ".".join(host.address.split(".")[:2]) + "."
    taken_over = any(subnet in line and " dev ar" in line and host.folder.bridge not in line for line in routes)
    return [
        *(line for line in links if host.folder.bridge in line),
        *(line for line in routes if host.folder.bridge in line or (subnet in line and not taken_over)),
        *(line for line in mounts if str(host.folder.path) in line),
    ]


def processes(hosts: list[LabHost]) -> list[Process]:
    return [Process.of(pid) for host in hosts for pid in host.pids()]


def gone(ones: list[Process]) -> bool:
    return wait_until(lambda: not any(one.alive for one in ones), 3)


def test_down_leaves_nothing_but_the_key(bring_up: BringUp, tmp_path: Path) -> None:
    hosts = bring_up(2)
    hosts[0].exec(["sh", "-c", "setsid sleep 600 > /dev/null 2>&1 &"])
    running = processes(hosts)
    assert len(running) >= 5
    assert traces(hosts[0])
    roles.lab.down(tmp_path, print)
    assert gone(running)
    assert traces(hosts[0]) == []
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {".lab", ".lab/id_ed25519", ".lab/id_ed25519.pub", ".lab/lock"}


def test_down_twice_says_that_nothing_is_up(
    bring_up: BringUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bring_up(1)
    roles.lab.down(tmp_path, print)
    roles.lab.down(tmp_path, print)
    assert capsys.readouterr().out.endswith("ended\nlab: nothing is up\n")


def test_down_works_after_every_host_was_killed(bring_up: BringUp, tmp_path: Path) -> None:
    hosts = bring_up(2)
    for host in hosts:
        assert host.process
        os.kill(host.process.pid, signal.SIGKILL)
    roles.lab.down(tmp_path, print)
    assert traces(hosts[0]) == []


def test_up_twice_keeps_what_runs_and_adds_what_is_asked_for(bring_up: BringUp, tmp_path: Path) -> None:
    (first,) = bring_up(1)
    before = first.process
    assert [host.name for host in bring_up(3)] == ["lab1", "lab2", "lab3"]
    assert first.process == before
    assert len(bring_up(1)) == 3


def test_up_boots_again_what_died(bring_up: BringUp) -> None:
    first, second = bring_up(2)
    second.crash()
    bring_up(2)
    assert second.answers()
    assert first.answers()


def test_up_brings_a_lab_back_after_the_machine_was_restarted(bring_up: BringUp, tmp_path: Path) -> None:
    """A restart ends processes, links and mounts, and changes the boot id: all but the last is done for real."""
    hosts = bring_up(2)
    hosts[0].exec(["sh", "-c", "echo kept > /root/kept"])
    for host in hosts:
        host.crash()
    subprocess.run(["ip", "link", "del", hosts[0].folder.bridge], check=True)
    subprocess.run(["umount", str(hosts[0].folder.layers)], check=True)
    for path in [hosts[0].folder.state, *tmp_path.rglob("process.json")]:
        path.write_text(json.dumps({**json.loads(path.read_text()), "boot": "an earlier one"}))
    assert not roles.lab.status(tmp_path)[0]["up"]
    again = bring_up(2)
    assert all(host.answers() for host in again)
    assert again[0].exec(["cat", "/root/kept"]).stdout == "kept\n"


def test_a_lab_that_cannot_be_completed_is_taken_away(bring_up: BringUp, tmp_path: Path) -> None:
    (tmp_path / ".lab/hosts/lab2/host_key").mkdir(parents=True)
    with pytest.raises(AllranksError, match=r"lab2 does not boot: .*host_key"):
        bring_up(2)
    assert roles.lab.status(tmp_path) == []
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


def test_hosts_that_cannot_be_added_leave_the_others_alone(bring_up: BringUp, tmp_path: Path) -> None:
    (first,) = bring_up(1)
    (tmp_path / ".lab/hosts/lab3/host_key").mkdir(parents=True)
    with pytest.raises(AllranksError, match=r"lab3 does not boot: .*host_key"):
        bring_up(3)
    assert [row["name"] for row in roles.lab.status(tmp_path)] == ["lab1"]
    assert first.answers()


def test_a_lab_whose_folder_was_removed_does_not_hinder_the_next(bring_up: BringUp, tmp_path: Path) -> None:
    (host,) = bring_up(1)
    address = host.address
    host.crash()
    host.folder.state.unlink()
    (again,) = bring_up(1)
    assert again.answers()
    assert again.address == address


def test_two_labs_stand_side_by_side(bring_up: BringUp, tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    (one,) = bring_up(1, root=tmp_path / "one")
    (other,) = bring_up(1, root=tmp_path / "other")
    assert one.address != other.address
    roles.lab.down(tmp_path / "one", print)
    assert other.answers()


def test_another_kind_is_refused_while_a_lab_is_up(bring_up: BringUp, tmp_path: Path) -> None:
    bring_up(1)
    with pytest.raises(Refused, match=r"of kind namespace, not loopback; first: inv lab\.down"):
        roles.lab.up(tmp_path, 1, "loopback", print)


def test_two_commands_at_once_do_not_meet(tmp_path: Path) -> None:
    (tmp_path / ".lab").mkdir()
    with (tmp_path / ".lab/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another command is changing the lab"):
            roles.lab.down(tmp_path, print)


@pytest.mark.parametrize(
    ("hosts", "kind", "said"), [(0, "auto", "1 to 1000 hosts, not 0"), (1, "docker", "no lab of kind 'docker'")]
)
def test_what_cannot_be_asked_for_is_refused_before_anything_is_made(
    tmp_path: Path, hosts: int, kind: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        roles.lab.up(tmp_path, hosts, kind, print)
    assert roles.lab.status(tmp_path) == []


def test_a_path_that_mount_options_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot hold such a path; move the clone"):
        roles.lab.up(tmp_path / "my clone", 1, "auto", print)


def test_status_tells_how_to_reach_each_host(bring_up: BringUp, tmp_path: Path) -> None:
    (host,) = bring_up(1)
    (row,) = roles.lab.status(tmp_path)
    assert subprocess.check_output([*row["ssh"].split(), "hostname"], text=True) == "lab1\n"
    assert (row["name"], row["kind"], row["up"], row["port"]) == ("lab1", "namespace", True, 22)
    host.crash()
    (row,) = roles.lab.status(tmp_path)
    assert (row["up"], row["pid"]) == (False, None)


def test_a_program_that_is_missing_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    (tmp_path / "nothing").touch()
    program = f"""
import pathlib, roles.lab
from roles.lab.inside import syscalls
syscalls.unshare(syscalls.NEW_MOUNT)
syscalls.mount("", "/", "", syscalls.RECURSIVE | syscalls.PRIVATE)
syscalls.bind({str(tmp_path / "nothing")!r}, {find("sshd")!r})
try:
    roles.lab.up(pathlib.Path({str(tmp_path)!r}), 1, "auto", print)
except roles.lab.verbs.InputError as error:
    print(error)
"""
    if decide("auto")[0] != "namespace":
        pytest.skip("hiding a program takes root and namespaces")
    said = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=CLONE)
    assert said.startswith("the lab needs sshd, which is not on this machine; as root: ")
    assert "install openssh-server" in said


def test_an_sshd_that_lacks_its_folder_is_told_with_what_to_do(tmp_path: Path) -> None:
    if os.getuid() or Path("/run/sshd").exists():
        pytest.skip("sshd needs /run/sshd only of root, and here it is there")
    try:
        with pytest.raises(AllranksError, match=r"privilege separation directory.*; as root: mkdir -p /run/sshd"):
            roles.lab.up(tmp_path, 1, "loopback", print)
    finally:
        roles.lab.down(tmp_path, print)
