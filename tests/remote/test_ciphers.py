"""Which cipher a connection gets, and that it goes on when its keys are exchanged anew."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import paramiko
import pytest
from paramiko.common import AUTH_SUCCESSFUL, OPEN_SUCCEEDED

from roles.lab.host import LabHost
from roles.remote import Remote
from roles.remote.transport import transport
from tests.hosts.reach import facts, inventory_host, second_sshd, shell

hosts = pytest.mark.hosts


class Damaging:
    """A socket on which, from a moment on, a bit of whatever comes is another one."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket, self.damages = sock, False

    def recv(self, size: int) -> bytes:
        """Read; the four bytes that tell a packet's length stay, with which a packet begins."""
        data = self._socket.recv(size)
        return data[:-1] + bytes([data[-1] ^ 1]) if self.damages and len(data) > 4 else data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


class Anybody(paramiko.ServerInterface):
    """Lets everybody in."""

    def check_auth_none(self, username: str) -> int:
        return AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED


@pytest.mark.parametrize("cipher", ["aes128-gcm@openssh.com", "aes128-ctr"])
def test_a_packet_that_was_damaged_on_its_way_is_a_lost_connection_and_no_bug(cipher: str) -> None:
    ours, theirs = socket.socketpair()
    wire, server = Damaging(ours), paramiko.Transport(theirs)
    client: Any = transport(wire)
    server.add_server_key(paramiko.ECDSAKey.generate())
    server.get_security_options().ciphers = [cipher]
    server.start_server(event=threading.Event(), server=Anybody())
    try:
        client.start_client(timeout=10)
        client.auth_none("anybody")
        assert client.remote_cipher == cipher
        wire.damages = True

        with pytest.raises(paramiko.SSHException, match=r"damaged|Mismatched MAC"):
            client.open_session(timeout=10)
    finally:
        client.close()
        server.close()


@hosts
def test_openssh_gives_a_cipher_that_needs_no_checksum_in_python(host: LabHost) -> None:
    with Remote(inventory_host(host)) as remote:
        transport = remote.connection().transport

        assert (transport.local_cipher, transport.remote_cipher) == ("aes128-gcm@openssh.com",) * 2


@hosts
def test_an_sshd_without_such_a_cipher_gets_another(linked: list[LabHost], tmp_path: Path) -> None:
    with second_sshd(linked[0], tmp_path, "Ciphers aes256-ctr") as there:
        target = inventory_host(linked[0], **there)

        with Remote(target) as remote:
            assert remote.connection().transport.remote_cipher == "aes256-ctr"
            assert remote.one("facts", {"workdir": target.workdir}, "facts")["hostname"] == linked[0].name


@hosts
def test_keys_are_exchanged_anew_while_a_log_is_read(linked: list[LabHost], tmp_path: Path) -> None:
    shell(linked[0], "seq 400000 > /tmp/many")
    with (
        second_sshd(linked[0], tmp_path, "RekeyLimit 256K") as there,
        Remote(inventory_host(linked[0], **there)) as one,
    ):
        channel = one.channel()
        channel.exec_command("cat; cat /tmp/many")
        for _ in range(40):
            channel.sendall(b"x" * 32768)
        channel.shutdown_write()
        got = b"".join(iter(lambda: channel.recv(65536), b""))

    assert got == b"x" * 32768 * 40 + b"".join(b"%d\n" % number for number in range(1, 400001))


@hosts
def test_keys_are_exchanged_anew_when_we_ask(host: LabHost) -> None:
    target = inventory_host(host)
    with Remote(target) as remote:
        remote.connection().transport.renegotiate_keys()

        assert remote.one("facts", {"workdir": target.workdir}, "facts")["hostname"] == host.name


@hosts
def test_facts_are_the_same_over_an_sshd_with_any_of_its_ciphers(linked: list[LabHost], tmp_path: Path) -> None:
    for cipher in ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr"):
        with second_sshd(linked[0], tmp_path, f"Ciphers {cipher}") as there:
            assert facts(inventory_host(linked[0], **there))["hostname"] == linked[0].name
