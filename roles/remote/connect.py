"""Host -> an open Fabric connection, or one sentence that says why not."""

from __future__ import annotations

import os
import random
import socket
from functools import lru_cache
from pathlib import Path
from typing import Any

import fabric
import paramiko
import tenacity
from paramiko.ssh_exception import (
    AuthenticationException,
    BadHostKeyException,
    NoValidConnectionsError,
    PasswordRequiredException,
    SSHException,
)

from roles.inventory import Host
from roles.inventory.errors import Unreachable
from roles.remote import keys
from roles.remote.wire import Wire

CONNECT_TIMEOUT = 10.0  # seconds until a host that does not answer is called unreachable
KEEPALIVE = 15  # seconds between SSH keepalives, so that a NAT or firewall keeps an idle connection


@lru_cache(maxsize=1)
def shared_config() -> fabric.Config:
    """The user's ssh_config, parsed once for all hosts."""
    return fabric.Config()


@lru_cache(maxsize=64)
def private_key(path: Path) -> paramiko.PKey:
    """Load a key once: an RSA key costs 100 ms of CPU each time."""
    return paramiko.PKey.from_path(path)


class TransientError(Exception):
    """The far end closed before it had spoken (sshd's MaxStartups, a restart): worth another try."""


def open_connection(host: Host, *, accept_new: bool = False, timeout: float = CONNECT_TIMEOUT) -> fabric.Connection:
    """Connect to one host: ssh_config, agent, keys, jump hosts honoured; its key checked.

    Connections that the far end drops before its banner are tried three times with jitter; nothing else is tried again.

    Raises: Unreachable, one line with the host's name and what to do.
    """
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TransientError),
        stop=tenacity.stop_after_attempt(3),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
        reraise=True,
    )
    try:
        return attempts(_open_once, host, accept_new, timeout)
    except TransientError as error:
        raise Unreachable(f"{host.name}: {error}", do="is its sshd overloaded (MaxStartups) or restarting?") from error


def _open_once(host: Host, accept_new: bool, timeout: float) -> fabric.Connection:
    connection = build(host, accept_new=accept_new, timeout=timeout)
    where = f"{connection.host}:{connection.port}"
    try:
        if not connection.gateway:
            connection.connect_kwargs["sock"] = Wire(connection.host, connection.port, timeout)
        connection.open()
    except (Unreachable, TransientError):
        connection.close()
        raise
    except Exception as error:
        connection.client.close()
        raise _explained(host, where, error, timeout) from error
    connection.transport.set_keepalive(KEEPALIVE)
    return connection


def build(host: Host, *, accept_new: bool, timeout: float) -> fabric.Connection:
    """A Fabric connection, not yet open, with our rules for keys, jumps and host keys."""
    kwargs: dict[str, Any] = {"banner_timeout": timeout, "auth_timeout": timeout, "channel_timeout": timeout}
    if host.key:
        path = Path(host.key).expanduser()
        try:
            kwargs |= {"pkey": private_key(path), "look_for_keys": False, "allow_agent": False}
        except FileNotFoundError as error:
            raise Unreachable(
                f"{host.name}: its key {path} is not there", do="correct `key` in the inventory"
            ) from error
        except PasswordRequiredException:
            kwargs |= {"key_filename": str(path)}  # a key with a passphrase: the agent may hold it
        except (OSError, SSHException, ValueError) as error:
            raise Unreachable(f"{host.name}: its key {path} cannot be read: {error}") from error
    connection = fabric.Connection(
        host.address,
        user=host.user,
        port=host.port,
        config=shared_config(),
        gateway=_gateway(host, accept_new, timeout),
        connect_timeout=max(1, round(timeout)),
        connect_kwargs=kwargs,
    )
    check_host_key(connection, host.name, known_hosts_file(host), accept_new)
    return connection


def known_hosts_file(host: Host) -> Path:
    """The file in which this host's key is looked up and, when accepted, written."""
    return Path(host.known_hosts).expanduser() if host.known_hosts else Path("~/.ssh/known_hosts").expanduser()


def check_host_key(connection: fabric.Connection, name: str, file: Path, accept_new: bool) -> None:
    """Replace Fabric's own rule (take any key) by ours. Jump hosts that ssh_config brought get the same one."""
    target = connection.host if connection.port == 22 else f"[{connection.host}]:{connection.port}"
    keys.trust(connection.client, target, [file, Path("/etc/ssh/ssh_known_hosts")])
    policy = keys.AcceptNew(file) if accept_new else keys.Refuse(name, file)
    connection.client.set_missing_host_key_policy(policy)
    gateway = connection.gateway
    if isinstance(gateway, fabric.Connection) and gateway.transport is None:
        check_host_key(gateway, f"{name} (jump host {gateway.original_host})", file, accept_new)


def _gateway(host: Host, accept_new: bool, timeout: float) -> Any:
    if host.proxy_command:
        return host.proxy_command
    if host.via is not None:
        return build(host.via, accept_new=accept_new, timeout=timeout)
    return None


def _explained(host: Host, where: str, error: Exception, timeout: float) -> Exception:
    """The library's exception as a sentence a person can act on."""
    name, user = host.name, host.user or os.environ.get("USER", "you")
    if isinstance(error, BadHostKeyException):
        return Unreachable(
            f"{name}: its host key CHANGED: {keys.fingerprint(error.key)} now, {keys.fingerprint(error.expected_key)} "
            f"in {known_hosts_file(host)}",
            do="find out why before anything else; if the host was reinstalled, remove the old line there",
        )
    if isinstance(error, PasswordRequiredException):
        return Unreachable(f"{name}: the key {host.key or ''} has a passphrase", do="add it to an agent: ssh-add")
    if isinstance(error, AuthenticationException):
        return Unreachable(
            f"{name}: {where} refused the login of {user} ({error})", do=f"try `ssh {host.address}` by hand"
        )
    if isinstance(error, socket.gaierror):
        return Unreachable(
            f"{name}: the address {host.address} cannot be resolved", do="correct `address` in the inventory"
        )
    if isinstance(error, TimeoutError):
        return Unreachable(
            f"{name}: {where} did not answer within {timeout:.0f} s", do="is the host up and the port open?"
        )
    if isinstance(error, ConnectionRefusedError | NoValidConnectionsError):
        return Unreachable(f"{name}: {where} refused the connection", do="is sshd running there?")
    if isinstance(error, ConnectionResetError | EOFError) or "banner" in str(error):
        return TransientError(f"{where} closed the connection before SSH began ({error or 'end of file'})")
    return Unreachable(f"{name}: no SSH connection to {where}: {error or type(error).__name__}")


def jitter(seconds: float) -> float:
    """A wait between half and one and a half of what was asked, so that many clients do not come back together."""
    return seconds * random.uniform(0.5, 1.5)
