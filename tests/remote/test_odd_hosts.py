"""Hosts that are not as one would like: no SFTP, noisy or other login shells, odd folders, full disks, old Pythons."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from roles.inventory import Host
from roles.inventory.errors import AllranksError
from roles.lab.host import LabHost
from roles.onhost.pack import bringing, pack
from tests.hosts import seen
from tests.hosts.clone import Clone
from tests.hosts.labs import disk
from tests.hosts.reach import OWN_KEYS, add_user, facts, inventory_host, second_sshd, shell

pytestmark = pytest.mark.hosts
NOISE = "echo 'Welcome to the cluster!'; echo '{\"not\": \"a frame\"}'; echo 'quota: 80 %' >&2\n"


def program(host: LabHost, folder: str = ".allranks/bin") -> Path:
    """The on-host program that was brought to a host, nothing half brought beside it."""
    (there,) = [path for path in (disk(host) / folder).iterdir() if not path.name.endswith(".d")]
    return there


def test_the_program_arrives_whole_without_an_sftp_subsystem_too(linked: list[LabHost], tmp_path: Path) -> None:
    with second_sshd(linked[0], tmp_path, without="Subsystem") as there:
        assert facts(inventory_host(linked[0], **there))["hostname"] == "lab1"

    landed = program(linked[0])
    assert landed.read_bytes() == pack()
    assert landed.stat().st_mode & 0o777 == 0o700


def test_bytes_that_are_not_those_that_were_sent_get_no_name(
    linked: list[LabHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = bringing()
    monkeypatch.setattr("roles.remote.remote.bringing", lambda: sent[:-1] + b"?")

    sentence = trouble(inventory_host(linked[0]))

    assert "could not be written: its sha256 is" in sentence
    assert list((disk(linked[0]) / ".allranks").glob("**/*")) == []


@pytest.mark.parametrize("subsystem", ["sftp-server", "none"])
def test_a_login_shell_that_prints_disturbs_nothing(linked: list[LabHost], tmp_path: Path, subsystem: str) -> None:
    host = linked[0]
    (disk(host) / ".bashrc").write_text(NOISE)
    without = "Subsystem" if subsystem == "none" else "?"
    with second_sshd(host, tmp_path, without=without) as there:
        target = inventory_host(host, **there)
        assert facts(target)["hostname"] == "lab1"
    assert program(host).read_bytes() == pack()


@pytest.mark.parametrize("name", ["dash", "csh", "fish", "zsh"])
def test_any_login_shell_will_do(linked: list[LabHost], tmp_path: Path, name: str) -> None:
    host, there = linked[0], shutil.which(name)
    if there is None or host.record.kind != "namespace":
        pytest.skip(f"{name} is not on this machine, or users cannot be made here")
    add_user(host, "shelly", there)
    with second_sshd(host, tmp_path, OWN_KEYS) as where:
        target = inventory_host(host, user="shelly", workdir="~/my runs/it's", **where)
        assert facts(target)["user"] == "shelly"
    assert shell(host, 'ls "/home/shelly/my runs/it\'s/bin"').startswith("onhost-")


def test_an_ordinary_user_deploys_into_their_own_home(
    linked: list[LabHost], tmp_path: Path, clone: Clone, port: int
) -> None:
    host = linked[0]
    if host.record.kind != "namespace":
        pytest.skip("users cannot be made here")
    add_user(host, "ann")
    with second_sshd(host, tmp_path, OWN_KEYS) as there:
        clone.hosts([host], user="ann", **there)
        clone.ok("deploy", "--host", "lab", "--profile", "small")
        (main,) = seen.mains(host)
        assert Path(f"/proc/{main}").stat().st_uid == int(shell(host, "id -u ann"))
        told = clone.ok("status", "--json").json["deployments"]
        assert [row["state"] for row in told] == ["up"]
        shell(host, f"python3 -m http.server {port + 200} --bind 0.0.0.0 >/dev/null 2>&1 &")
        clone.profile("other", port + 200)
        refused = clone.inv("deploy", "--host", "lab", "--profile", "other")
        clone.ok("teardown", "--name", "small@lab")
    assert seen.servers(host) == []
    assert refused.code == 3
    assert "a process of root that this login may not see" in refused.err


@pytest.mark.parametrize("workdir", ["~/my runs/größe 'x' $HOME \"y\"", "/tmp/it's; true"])
def test_a_work_folder_may_be_called_anything(clone: Clone, hosts: list[LabHost], workdir: str) -> None:
    clone.hosts(hosts[:1], workdir=workdir)

    clone.ok("deploy", "--host", "lab", "--profile", "small")

    root = disk(hosts[0]) / workdir[2:] if workdir.startswith("~") else hosts[0].home / workdir[1:]
    assert list(root.glob("runs/*/server.log"))
    assert "ready to roll" in clone.ok("logs").out
    clone.ok("teardown")
    assert seen.servers(hosts[0]) == []


def trouble(target: Host) -> str:
    """The sentence with which facts cannot be had."""
    with pytest.raises(AllranksError) as told:
        facts(target)
    sentence = str(told.value)
    assert sentence.startswith("lab1: ")
    assert "Traceback" not in sentence
    return sentence


@pytest.mark.parametrize("python", ["/nowhere/python3", "python-that-is-not-there"])
def test_a_python_that_is_not_there_is_told_with_the_key_to_correct(host: LabHost, python: str) -> None:
    sentence = trouble(inventory_host(host, python=python))

    assert python in sentence
    assert "correct `python` in the inventory" in sentence


@pytest.mark.parametrize("version", ["2.7.18", "3.6.15", "3.7.16"])
def test_a_python_that_is_too_old_is_told_with_the_version_that_is_needed(host: LabHost, version: str) -> None:
    installed = Path("~/.pyenv/versions").expanduser() / version
    if not installed.exists():
        pytest.skip(f"Python {version} is not on this machine")
    shutil.copytree(installed, disk(host) / "old", symlinks=True, ignore=shutil.ignore_patterns("test", "*.a", "tests"))
    python = f"python{version.rpartition('.')[0]}"
    shell(host, f"LD_LIBRARY_PATH=/root/old/lib /root/old/bin/{python} -c 'import os, zipfile'")

    sentence = trouble(inventory_host(host, python=f"/root/old/bin/{python}"))

    assert "3.8 or later" in sentence


def full(host: LabHost) -> None:
    """A folder with 16 KiB of room."""
    shell(host, "mkdir /root/small && mount -t tmpfs -o size=16k small /root/small")


def test_a_program_that_finds_no_room_leaves_nothing_and_says_so(linked: list[LabHost]) -> None:
    host = linked[0]
    full(host)

    sentence = trouble(inventory_host(host, workdir="~/small/work"))

    assert re.search(r"small/work/bin/onhost-\w+\.pyz could not be written: No space left", sentence)
    assert "is there space" in sentence
    assert shell(host, "find /root/small -type f") == ""


def test_a_work_folder_on_another_disk_than_the_home_is_no_trouble(linked: list[LabHost]) -> None:
    host = linked[0]
    shell(host, "mkdir /root/other && mount -t tmpfs -o size=4m other /root/other")
    target = inventory_host(host, workdir="/root/other/allranks")

    assert facts(target)["hostname"] == "lab1"


def test_a_home_that_cannot_be_written_is_no_trouble_when_the_work_folder_can(
    linked: list[LabHost], tmp_path: Path
) -> None:
    host = linked[0]
    if host.record.kind != "namespace":
        pytest.skip("users cannot be made here")
    add_user(host, "guest")
    shell(host, "mkdir -p /tmp/guest; chown guest /tmp/guest; chown root ~guest; chmod 755 ~guest")
    with second_sshd(host, tmp_path, OWN_KEYS) as there:
        target = inventory_host(host, user="guest", workdir="/tmp/guest/work", **there)
        assert facts(target)["user"] == "guest"


def test_a_log_arrives_whole_although_its_characters_are_written_byte_by_byte(
    clone: Clone, hosts: list[LabHost], port: int
) -> None:
    clone.profile("small", port, environment={"STANDIN_DRIP": "1"})

    run: Any = clone.ok("deploy", "--host", "lab", "--profile", "small", "--json").json["run"]

    kept = (clone.root / f"runs/{run}/node0.log").read_text()
    assert "Überprüfung läuft: 日本語 🏖️ fertig\n" in kept
    assert "Überprüfung läuft: 日本語 🏖️ fertig\n" in clone.ok("logs", "--lines", "0").out
    assert (seen.run_folder(hosts[0], run) / "server.log").read_text().startswith(kept)
