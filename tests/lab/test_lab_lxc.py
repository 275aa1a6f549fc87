"""LXC containers with systemd: hosts as our users have them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import roles.lab
from roles.lab import LabHost
from roles.lab.inotify import LIMIT
from roles.lab.process import Process, wait_until
from tests.lab.fixtures import OPT, make

Ssh = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.hosts, pytest.mark.lxc]


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[LabHost]]:
    for program in ("lxc-start", "debootstrap"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    root = tmp_path_factory.mktemp("lxc")
    yield make(root, 2, "lxc")
    roles.lab.down(root, print)


def test_containers_run_systemd_and_answer_to_ssh(containers: list[LabHost], ssh: Ssh) -> None:
    said = ssh(containers[0], "hostname; ps -p 1 -o comm=; systemctl is-active ssh")
    assert said.stdout.split() == ["lab1", "systemd", "active"]


def test_a_session_has_a_python_and_no_process_of_the_machine(containers: list[LabHost], ssh: Ssh) -> None:
    assert ssh(containers[0], "python3 -c 'import json, ssl, sqlite3; print(1)'").stdout == "1\n"
    assert len(ssh(containers[0], "ps -e -o pid=").stdout.split()) < 20


def test_a_container_keeps_its_disk_over_a_crash(containers: list[LabHost], ssh: Ssh) -> None:
    host = containers[1]
    ssh(host, "echo kept > /root/kept")
    running = [Process.of(pid) for pid in host.pids()]
    host.crash()
    assert wait_until(lambda: not any(process.alive for process in running), 3)
    host.boot()
    assert ssh(host, "cat /root/kept").stdout == "kept\n"


def test_a_containers_sshd_link_and_processes_can_be_hurt_and_healed(containers: list[LabHost]) -> None:
    host = containers[1]
    for hurt, heal in ((host.cut, host.heal), (host.freeze, host.thaw), (host.sshd_stop, host.sshd_start)):
        hurt()
        assert not host.answers(0)
        heal()
        assert host.answers()


@pytest.mark.slow
def test_many_containers_get_room_for_their_systemd_and_give_it_back(tmp_path: Path) -> None:
    before = LIMIT.read_text()
    hosts = make(tmp_path, 4, "lxc")
    assert int(LIMIT.read_text()) >= 192
    groups = list(Path("/sys/fs/cgroup").glob(f"**/{hosts[0].folder.bridge}"))
    assert groups
    roles.lab.down(tmp_path, print)
    assert LIMIT.read_text() == before
    assert not any(group.exists() for group in groups)


@pytest.mark.sglang
def test_a_container_sees_the_shared_sglang(containers: list[LabHost], ssh: Ssh) -> None:
    if not (OPT / "stamp").exists():
        pytest.skip("SGLang is not installed in .lab: inv lab.up --sglang")
    said = ssh(containers[0], "/opt/allranks-lab/venv/bin/python -c 'import torch; print(torch.__version__)'")
    assert said.stdout.startswith("2.")
