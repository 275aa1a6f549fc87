"""Hosts made of namespaces behave as hosts do, whole and hurt."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roles.inventory import load
from roles.lab import LabHost
from roles.lab.process import Process, wait_until
from tests.hosts.clone import eventually

Ssh = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.hosts


def test_every_host_is_reached_by_plain_ssh_under_its_own_name(lab: list[LabHost], ssh: Ssh) -> None:
    assert [ssh(host, "hostname").stdout.strip() for host in lab] == ["lab1", "lab2", "lab3", "lab4"]


def test_the_first_host_is_also_called_lab(lab: list[LabHost]) -> None:
    argv = ["ssh", "-F", str(lab[0].folder.ssh_config), "lab", "hostname"]
    assert subprocess.check_output(argv, text=True) == "lab1\n"


def test_no_host_but_the_one_that_was_made_is_believed(lab: list[LabHost], ssh: Ssh) -> None:
    impostor = ssh(lab[0], "hostname", "-o", f"HostName={lab[1].address}", "-o", "HostKeyAlias=lab1")
    assert impostor.returncode == 255
    assert "Host key verification failed" in impostor.stderr


def test_a_password_is_never_asked_for(lab: list[LabHost], ssh: Ssh) -> None:
    refused = ssh(lab[0], "true", "-o", "PubkeyAuthentication=no")
    assert "Permission denied (publickey)" in refused.stderr


def test_a_host_has_processes_home_and_tmp_of_its_own(lab: list[LabHost], ssh: Ssh) -> None:
    assert ssh(lab[0], "pwd; touch ~/mine /tmp/mine; ps -p 1 -o args=").stdout.startswith("/root\n")
    assert ssh(lab[1], "ls ~ /tmp").stdout.split() == ["/root:", "/tmp:"]
    assert len(ssh(lab[0], "ps -e -o pid=").stdout.split()) < 20


def test_a_file_travels_by_sftp(lab: list[LabHost], ssh: Ssh, tmp_path: Path) -> None:
    (tmp_path / "sent").write_text("as it was\n")
    config = str(lab[0].folder.ssh_config)
    batch = f"put {tmp_path}/sent /root/received\n"
    subprocess.run(["sftp", "-q", "-b", "-", "-F", config, "lab1"], input=batch, text=True, check=True)
    assert ssh(lab[0], "cat /root/received").stdout == "as it was\n"


def test_hosts_reach_each_other_by_address_and_nothing_outside(lab: list[LabHost]) -> None:
    reach = "exec 3<>/dev/tcp/{}/22 && head -c 4 <&3"
    assert lab[0].exec(["bash", "-c", reach.format(lab[1].address)]).stdout == "SSH-"
    assert "unreachable" in lab[0].exec(["bash", "-c", reach.format("192.0.2.1")]).stderr


def test_orphans_are_reaped(lab: list[LabHost]) -> None:
    lab[0].exec(["sh", "-c", "(sleep 0.05 &)"])
    assert wait_until(lambda: not lab[0].exec(["pgrep", "sleep"]).stdout, 3)


def test_a_crash_ends_every_process_and_keeps_the_disk(lab: list[LabHost], ssh: Ssh) -> None:
    host = lab[2]
    ssh(host, "echo kept > ~/kept; echo kept > /etc/kept; setsid sleep 600 > /dev/null 2>&1 < /dev/null &")
    processes = [Process.of(pid) for pid in host.pids()]
    assert len(processes) >= 3
    host.crash()
    assert wait_until(lambda: not any(process.alive for process in processes), 2)
    assert not host.alive
    host.boot()
    assert ssh(host, "cat ~/kept /etc/kept").stdout == "kept\nkept\n"


def test_a_cut_link_is_silent_until_it_is_healed(lab: list[LabHost], ssh: Ssh) -> None:
    lab[3].cut()
    assert not lab[3].answers(0)
    assert lab[3].alive
    lab[3].heal()
    assert ssh(lab[3], "hostname").stdout == "lab4\n"


def test_a_frozen_host_does_nothing_until_it_is_thawed(lab: list[LabHost]) -> None:
    def states() -> set[str]:
        return {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in lab[3].pids()}

    lab[3].freeze()
    try:
        eventually(lambda: states() == {"T"})  # a process that just runs on the other core stops a moment later
    finally:
        lab[3].thaw()
    assert lab[3].answers()


def test_stopping_sshd_keeps_the_sessions_that_exist(lab: list[LabHost]) -> None:
    argv = ["ssh", "-F", str(lab[3].folder.ssh_config), "lab4", "echo begun; read line; echo $line"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdout
        assert session.stdout.readline() == "begun\n"
        lab[3].sshd_stop()
        assert not lab[3].answers(0)
        assert session.communicate("still here\n", timeout=5)[0] == "still here\n"
    lab[3].sshd_start()
    assert lab[3].answers()


def test_the_inventory_reads_what_the_lab_wrote(lab: list[LabHost], tmp_path: Path) -> None:
    root = lab[0].folder.root
    (root / "inventory").mkdir(exist_ok=True)
    (root / "inventory/hosts.yml").write_text("hosts: {}\n")
    inventory = load(root)
    assert [host.name for host in inventory.hosts("labs")] == ["lab1", "lab2", "lab3", "lab4"]
    first = inventory.host("lab")
    assert (first.address, first.user, first.port, first.lab) == (lab[0].address, "root", 22, True)


def test_four_hosts_are_up_within_seconds(bring_up: Callable[..., list[LabHost]]) -> None:
    began = time.monotonic()
    bring_up(4)
    assert time.monotonic() - began < 15  # 0.3 s on two idle cores


def test_without_an_overlay_a_host_shares_the_system_read_only(
    bring_up: Callable[..., list[LabHost]], ssh: Ssh
) -> None:
    (host,) = bring_up(1)
    host.crash()
    layers = host.folder.layers
    subprocess.run(["mount", "-t", "proc", "proc", str(layers)], check=True)  # holds no layers, as an overlay would not
    host.boot()
    subprocess.run(["umount", str(layers)], check=True)
    assert "is shared read-only" in (host.home / "boot.log").read_text()
    assert "Read-only file system" in ssh(host, "touch /usr/mine; touch /etc/mine && hostname").stderr
    assert ssh(host, "touch /etc/mine && hostname").stdout == "lab1\n"
