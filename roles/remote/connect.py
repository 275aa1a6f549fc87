"""Host -> an open Fabric connection, or one sentence that says why not."""

from __future__ import annotations

import contextlib
import logging
import random
import threading
import time
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import fabric
import paramiko
from paramiko.ssh_exception import PasswordRequiredException, SSHException

from roles.inventory import Host
from roles.inventory.endpoint import endpoint
from roles.inventory.errors import Unreachable
from roles.remote import keys
from roles.remote.explain import Place, TransientError, explained
from roles.remote.transport import transport
from roles.remote.wire import Piped, Wire

CONNECT_TIMEOUT = 10.0  # seconds until a host that does not answer is called unreachable
STARTUPS = 8  # logins begun at once at one sshd, which drops some from 10 on (MaxStartups); it hears later of their end
KEEPALIVE = 15  # seconds between SSH keepalives, so that a NAT or firewall keeps an idle connection

# Paramiko logs what it raises too; where nobody has set up logging, Python would print that with its traceback.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


@lru_cache(maxsize=1)
def ssh_config() -> paramiko.SSHConfig:
    """The user's ssh_config, parsed once for all hosts; it is only looked up in."""
    return fabric.Config().base_ssh_config  # type: ignore[no-any-return]


def own_config() -> fabric.Config:
    """A connection's own settings (0.1 ms): Fabric writes into them what it learns of the host.

    Many connections on one would see each other's values, and now and then an empty one while it is merged anew. A
    clone would do, but Fabric reads all ssh_config files again for each, and keeps what they say twice.
    """
    return fabric.Config(ssh_config=ssh_config())


@lru_cache(maxsize=64)
def private_key(path: Path) -> paramiko.PKey:
    """Load a key once: an RSA key costs 100 ms of CPU each time."""
    return paramiko.PKey.from_path(path)


def open_connection(host: Host, *, accept_new: bool = False, timeout: float = CONNECT_TIMEOUT) -> fabric.Connection:
    """Connect to one host: ssh_config, agent, keys, jump hosts honoured; its key checked.

    Connections that the far end drops before its banner are tried five times with jitter; nothing else is tried again.

    Raises: Unreachable, one line with the host's name and what to do.
    """
    try:
        return _open_once(host, accept_new, timeout)
    except TransientError:
        import tenacity  # 5 ms, and seldom needed

    time.sleep(jitter(0.5))
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TransientError),
        stop=tenacity.stop_after_attempt(4),
        wait=tenacity.wait_exponential(multiplier=0.6, max=3) + tenacity.wait_random(0, 0.5),  # 5 to 7 s in all
        reraise=True,
    )
    try:
        return attempts(_open_once, host, accept_new, timeout)
    except TransientError as error:
        raise Unreachable(str(error), do="is its sshd overloaded (MaxStartups) or restarting?") from error


def close(connection: fabric.Connection) -> None:
    """Close it and the jump hosts' connections that it goes through, which Fabric leaves open."""
    while isinstance(connection, fabric.Connection):
        with contextlib.suppress(Exception):
            connection.client.close()
        connection = connection.gateway


def _open_once(host: Host, accept_new: bool, timeout: float) -> fabric.Connection:
    connection = build(host, accept_new=accept_new, timeout=timeout)
    try:
        _open(connection, host, host.name, timeout)
    except BaseException:
        close(connection)
        raise
    return connection


def _open(connection: fabric.Connection, host: Host, name: str, timeout: float) -> None:
    """Open the jump hosts first, each under its own name. `host`: whose settings the connection was built from."""
    jump = connection.gateway
    if isinstance(jump, fabric.Connection):
        via = host.via
        _open(jump, via or host, f"{name}: jump host {via.name if via else jump.original_host}", timeout)
    with _logins(connection.host, connection.port):
        _open_one(connection, host, name, timeout)


@cache
def _logins(address: str, port: int) -> threading.BoundedSemaphore:
    """One for each sshd: a jump host is logged in to once for each host behind it."""
    return threading.BoundedSemaphore(STARTUPS)


def _open_one(connection: fabric.Connection, host: Host, name: str, timeout: float) -> None:
    jump, proxy = connection.gateway, None
    began = time.monotonic()
    try:
        if isinstance(jump, str):
            connection.gateway = False  # Fabric's own way of running the command would not notice its end
            proxy = connection.connect_kwargs["sock"] = Piped(_expanded(jump, connection))
        elif not jump:
            connection.connect_kwargs["sock"] = Wire(connection.host, connection.port, timeout)
        connection.open()
    except Unreachable:
        if proxy:
            proxy.close()
        raise
    except Exception as error:
        place = Place(
            name=name,
            where=endpoint(connection.host, connection.port),
            address=connection.original_host,
            user=connection.user,
            key=host.key or "",
            known=str(known_hosts_file(host)),
            jumped=isinstance(jump, fabric.Connection),
            proxy=proxy,
            timeout=timeout,
        )
        try:
            raise explained(place, error, time.monotonic() - began) from error
        finally:
            if proxy:
                proxy.close()
    connection.transport.set_keepalive(KEEPALIVE)


def _expanded(command: str, connection: fabric.Connection) -> str:
    """A ProxyCommand with %h, %p and %r filled in."""
    text = f"Host *\n  User {connection.user}\n  Port {connection.port}\n  ProxyCommand {command}\n"
    return str(paramiko.SSHConfig.from_text(text).lookup(connection.host)["proxycommand"])


def build(host: Host, *, accept_new: bool, timeout: float, name: str = "") -> fabric.Connection:
    """A Fabric connection, not yet open, with our rules for keys, jumps and host keys. Errors begin with `name`."""
    name = name or host.name
    times = {"banner_timeout": timeout, "auth_timeout": timeout, "channel_timeout": timeout}
    ours = {**times, "transport_factory": transport}
    connection = fabric.Connection(
        host.address,
        user=host.user,
        port=host.port,
        config=own_config(),
        gateway=_gateway(host, name, accept_new, timeout),
        connect_timeout=max(1, round(timeout)),
        connect_kwargs={**ours, **_key(host, name)},
    )
    _check_host_key(connection, name, known_hosts_file(host), accept_new)
    jump = connection.gateway
    while host.via is None and isinstance(jump, fabric.Connection):  # ssh_config brought it
        jump.connect_timeout = connection.connect_timeout
        jump.connect_kwargs = {**dict(jump.connect_kwargs), **ours}  # its own: Fabric has one for all
        _check_host_key(jump, f"{name}: jump host {jump.original_host}", known_hosts_file(host), accept_new)
        jump = jump.gateway
    return connection


def _key(host: Host, name: str) -> dict[str, Any]:
    if not host.key:
        return {}
    path = Path(host.key).expanduser()
    try:
        return {"pkey": private_key(path), "look_for_keys": False, "allow_agent": False}
    except FileNotFoundError as error:
        raise Unreachable(f"{name}: its key {path} is not there", do="correct `key` in the inventory") from error
    except PasswordRequiredException:
        return {"key_filename": str(path)}  # a key with a passphrase: the agent may hold it
    except (OSError, SSHException, ValueError) as error:
        raise Unreachable(f"{name}: its key {path} cannot be read: {error}") from error


def known_hosts_file(host: Host) -> Path:
    """The file in which this host's key is looked up and, when accepted, written."""
    return Path(host.known_hosts).expanduser() if host.known_hosts else Path("~/.ssh/known_hosts").expanduser()


def _check_host_key(connection: fabric.Connection, name: str, file: Path, accept_new: bool) -> None:
    """Replace Fabric's own rule (take any key) by ours."""
    target = connection.host if connection.port == 22 else f"[{connection.host}]:{connection.port}"
    keys.trust(connection.client, target, [file, Path("/etc/ssh/ssh_known_hosts")])
    policy = keys.AcceptNew(file) if accept_new else keys.Refuse(name, file)
    connection.client.set_missing_host_key_policy(policy)


def _gateway(host: Host, name: str, accept_new: bool, timeout: float) -> Any:
    if host.proxy_command:
        return host.proxy_command
    if host.via is not None:
        return build(host.via, accept_new=accept_new, timeout=timeout, name=f"{name}: jump host {host.via.name}")
    return None


def jitter(seconds: float) -> float:
    """A wait between half and one and a half of what was asked, so that many clients do not come back together."""
    return seconds * random.uniform(0.5, 1.5)
