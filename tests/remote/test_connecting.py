"""Into a real sshd, or one sentence that says why not."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roles.inventory import Host
from roles.inventory.errors import Unreachable
from roles.lab.host import LabHost
from roles.lab.keys import known_hosts_line, make_key
from roles.remote import Remote, each
from tests.hosts.clone import Clone, eventually
from tests.hosts.reach import SECOND, facts, inventory_host, second_sshd, shell

pytestmark = pytest.mark.hosts


def refusal(host: Host, **options: bool | float) -> str:
    """The sentence with which a host cannot be reached."""
    with pytest.raises(Unreachable) as told:
        facts(host, **options)
    sentence = str(told.value)
    assert sentence.startswith(f"{host.name}: ")
    assert "\n" not in sentence
    return sentence


def printed_by_openssh(key: Path) -> str:
    """The fingerprint as a person compares it."""
    return subprocess.run(["ssh-keygen", "-lf", key], capture_output=True, text=True, check=True).stdout.split()[1]


def test_an_unknown_host_key_is_refused_and_shown_and_nothing_is_written(host: LabHost, tmp_path: Path) -> None:
    known = tmp_path / "ssh/known_hosts"

    sentence = refusal(inventory_host(host, known_hosts=str(known)))

    assert printed_by_openssh(host.home / "host_key") in sentence
    assert "--accept-new-host-key" in sentence
    assert not known.parent.exists()


def test_an_unknown_host_key_can_be_accepted_once_and_is_known_from_then_on(host: LabHost, tmp_path: Path) -> None:
    known = tmp_path / "ssh/known_hosts"
    target = inventory_host(host, known_hosts=str(known))

    facts(target, accept_new=True)

    assert known.read_text() == known_hosts_line([host.address], host.port, host.home / "host_key")
    assert facts(target)["hostname"]


def test_many_hosts_at_once_write_whole_lines_into_one_known_hosts(hosts: list[LabHost], tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    known.write_text("# a file that somebody edited by hand, without a last newline")

    for outcome in each(hosts, lambda h: facts(inventory_host(h, known_hosts=str(known)), accept_new=True)):
        outcome.unwrap()

    lines = known.read_text().splitlines()
    assert lines[0].startswith("# a file")
    expected = [known_hosts_line([h.address], h.port, h.home / "host_key").strip() for h in hosts]
    assert sorted(lines[1:]) == sorted(expected)


@pytest.mark.parametrize("accept_new", [False, True])
def test_a_changed_host_key_is_refused_whatever_was_asked(host: LabHost, tmp_path: Path, accept_new: bool) -> None:
    make_key(tmp_path / "other", "another host's key")
    known = tmp_path / "known_hosts"
    known.write_text(known_hosts_line([host.address], host.port, tmp_path / "other"))
    before = known.read_text()

    sentence = refusal(inventory_host(host, known_hosts=str(known)), accept_new=accept_new)

    assert "CHANGED" in sentence
    assert printed_by_openssh(host.home / "host_key") in sentence
    assert printed_by_openssh(tmp_path / "other") in sentence
    assert known.read_text() == before


def test_a_key_of_another_type_than_the_known_one_is_no_new_host(host: LabHost, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", tmp_path / "other"], check=True)
    known = tmp_path / "known_hosts"
    known.write_text(known_hosts_line([host.address], host.port, tmp_path / "other"))
    before = known.read_text()

    sentence = refusal(inventory_host(host, known_hosts=str(known)), accept_new=True)

    assert "CHANGED" in sentence
    assert known.read_text() == before


def test_a_key_that_the_host_does_not_know_is_told_with_the_login(host: LabHost, tmp_path: Path) -> None:
    make_key(tmp_path / "stranger", "a key that nobody let in")

    sentence = refusal(inventory_host(host, key=str(tmp_path / "stranger")))

    assert f"refused the login of {host.user}" in sentence


def test_a_login_that_does_not_exist_is_told(host: LabHost) -> None:
    assert "refused the login of nobody-here" in refusal(inventory_host(host, user="nobody-here"))


def test_a_key_that_is_not_on_this_machine_is_told_before_anything_is_tried(host: LabHost, tmp_path: Path) -> None:
    assert "is not there; correct `key`" in refusal(inventory_host(host, key=str(tmp_path / "nowhere")))


def test_a_host_without_sshd_refuses_the_connection(host: LabHost) -> None:
    host.sshd_stop()
    try:
        assert f"{host.address}:{host.port} refused the connection; is sshd running" in refusal(inventory_host(host))
    finally:
        host.sshd_start()


def test_a_frozen_host_is_told_within_the_limit(host: LabHost) -> None:
    host.freeze()
    began = time.monotonic()
    try:
        sentence = refusal(inventory_host(host), timeout=2.0)
    finally:
        host.thaw()
    assert "did not answer within 2 s" in sentence
    assert time.monotonic() - began < 4.0


def test_a_host_whose_link_is_down_is_told_within_the_limit(linked: list[LabHost]) -> None:
    host = linked[0]
    host.cut()
    began = time.monotonic()
    try:
        refusal(inventory_host(host), timeout=2.0)
    finally:
        host.heal()
    assert time.monotonic() - began < 5.0


def test_a_name_that_nobody_knows_is_told() -> None:
    target = Host(name="far", address="no-such-host.invalid")

    assert "no-such-host.invalid cannot be resolved; correct `address`" in refusal(target)


def came_from(target: Host) -> str:
    """The address from which a host sees us come."""
    with Remote(target) as remote:
        said = remote.connection().run("echo $SSH_CONNECTION", hide=True, in_stream=False).stdout
    return str(said).split()[0]


def test_through_one_jump_host_and_through_two(linked: list[LabHost]) -> None:
    first, second, third = linked
    near = inventory_host(first)
    middle = inventory_host(second, jump="lab1", via=near)
    behind_one, behind_two = (inventory_host(third, jump=via.name, via=via) for via in (near, middle))

    assert came_from(behind_one) == first.address
    assert came_from(behind_two) == second.address
    assert facts(behind_two)["hostname"] == "lab3"


def test_a_jump_host_whose_key_is_unknown_is_named(linked: list[LabHost], tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    via = inventory_host(linked[0], known_hosts=str(known))
    target = inventory_host(linked[1], jump="lab1", via=via)

    sentence = refusal(target)

    assert "lab1" in sentence
    assert "is not in" in sentence


def test_a_jump_host_that_is_down_is_named(linked: list[LabHost]) -> None:
    target = inventory_host(linked[1], jump="lab1", via=inventory_host(linked[0]))
    linked[0].sshd_stop()
    try:
        sentence = refusal(target)
    finally:
        linked[0].sshd_start()
    assert f"{linked[0].address}:22 refused" in sentence


def test_a_host_that_its_jump_host_cannot_reach_is_told_within_the_limit(linked: list[LabHost]) -> None:
    target = inventory_host(linked[1], jump="lab1", via=inventory_host(linked[0]))
    linked[1].sshd_stop()
    try:
        assert "its jump host cannot reach" in refusal(target)
    finally:
        linked[1].sshd_start()
    linked[1].cut()
    began = time.monotonic()
    try:
        refusal(target, timeout=3.0)
    finally:
        linked[1].heal()
    assert time.monotonic() - began < 6.0


def test_through_a_command_of_this_machine(linked: list[LabHost]) -> None:
    first, second, _ = linked
    command = f"ssh -F {first.folder.ssh_config} -W {second.address}:22 lab1"

    assert came_from(inventory_host(second, proxy_command=command)) == first.address


def test_a_proxy_command_that_fails_is_told(host: LabHost) -> None:
    began = time.monotonic()

    sentence = refusal(inventory_host(host, proxy_command="sh -c 'echo no route to %h:%p >&2; exit 3'"))

    assert f"its proxy_command ended with status 3, saying: no route to {host.address}:{host.port}" in sentence
    assert time.monotonic() - began < 5.0


def test_an_alias_of_your_ssh_config_is_all_that_an_inventory_needs(
    new_clone: Callable[[str], Clone], linked: list[LabHost]
) -> None:
    host, clone = linked[0], new_clone("alias").hosts({"gpu-box": {}})
    ssh = clone.home / ".ssh"
    ssh.mkdir(mode=0o700)
    (ssh / "config").write_text(
        f"Host gpu-box\n  HostName {host.address}\n  User root\n  IdentityFile {host.folder.key}\n  ProxyJump far\n"
        f"Host far\n  HostName {linked[1].address}\n  User root\n  IdentityFile {host.folder.key}\n"
    )
    (ssh / "known_hosts").write_text(host.folder.known_hosts.read_text())

    assert clone.ok("status", "--host", "gpu-box").out.startswith("nothing of ours runs on gpu-box")


def test_a_key_in_an_agent_is_used(new_clone: Callable[[str], Clone], host: LabHost, tmp_path: Path) -> None:
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.DEVNULL)
    try:
        clone = new_clone("clone").hosts([host], key=None)
        clone.environment["SSH_AUTH_SOCK"] = str(tmp_path / "agent")
        add, environment = ["ssh-add", "-q", str(host.folder.key)], {**os.environ, **clone.environment}
        eventually(lambda: subprocess.run(add, env=environment, check=False).returncode == 0)
        clone.ok("status", "--host", "lab")
    finally:
        agent.terminate()
        agent.wait()


def test_a_host_whose_sshd_is_busy_is_tried_again(linked: list[LabHost], tmp_path: Path) -> None:
    host = linked[0]
    with second_sshd(host, tmp_path, "MaxStartups 1:100:1") as there:
        target = inventory_host(host, **there)
        with socket.create_connection((host.address, SECOND)) as waiting:  # takes the only place, says nothing
            assert waiting.recv(4) == b"SSH-"
            threading.Timer(0.7, waiting.shutdown, (socket.SHUT_RDWR,)).start()
            assert facts(target)["hostname"] == host.name


def test_an_sshd_that_stays_busy_is_told_as_such(linked: list[LabHost], tmp_path: Path) -> None:
    host = linked[0]
    with (
        second_sshd(host, tmp_path, "MaxStartups 1:100:1") as there,
        socket.create_connection((host.address, SECOND)) as waiting,
    ):
        assert waiting.recv(4) == b"SSH-"
        assert "MaxStartups" in refusal(inventory_host(host, **there))


def test_a_fleet_that_connects_at_once_gets_through_a_small_sshd(linked: list[LabHost], tmp_path: Path) -> None:
    host = linked[0]
    with second_sshd(host, tmp_path, "MaxStartups 3:100:3") as there:
        target = inventory_host(host, **there)
        outcomes = each(range(8), lambda _: facts(target))
    assert [str(outcome.error) for outcome in outcomes if outcome.error] == []


def test_no_more_logins_are_begun_at_one_jump_host_than_its_sshd_takes(linked: list[LabHost], tmp_path: Path) -> None:
    jump = linked[0]
    with second_sshd(jump, tmp_path, "MaxStartups 10:100:10") as there:
        way = inventory_host(jump, **there)
        target = inventory_host(linked[1], jump="lab1", via=way)
        outcomes = each(range(25), lambda _: facts(target))
        log = shell(jump, "cat /var/log/second.log")
    assert [str(outcome.error) for outcome in outcomes if outcome.error] == []
    assert log.count("drop connection") < 5, (
        log
    )  # 15 without our bound; a busy sshd counts a login for longer than we do
