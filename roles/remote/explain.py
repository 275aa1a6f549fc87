"""The libraries' exceptions -> one sentence a person can act on."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from paramiko.ssh_exception import (
    AuthenticationException,
    BadHostKeyException,
    ChannelException,
    NoValidConnectionsError,
    PasswordRequiredException,
)

from roles.inventory.errors import Unreachable
from roles.remote import keys
from roles.remote.wire import Piped

# Paramiko's words when the time for the first exchange was over, or for a channel through a jump host.
TIMED_OUT = ("No existing session", "Timeout opening channel")
BANNER = "banner"


class TransientError(Exception):
    """The far end closed before it had spoken (sshd's MaxStartups, a restart): worth another try."""


@dataclass(frozen=True)
class Place:
    """Where a connection was to go. `name` begins each sentence; `where` is address:port, `known` its known_hosts."""

    name: str
    where: str
    address: str
    user: str | None
    key: str
    known: str
    jumped: bool
    proxy: Piped | None
    timeout: float


def explained(place: Place, error: Exception, seconds: float) -> Exception:
    """What to raise instead: Unreachable, or TransientError where another try may help.

    `seconds`: how long it was tried. Paramiko has the same words for a peer that hangs up and one that says nothing.
    """
    if place.proxy is not None and not isinstance(error, BadHostKeyException | AuthenticationException):
        return _of_proxy(place, place.proxy)
    return _of_key_or_login(place, error) or _of_network(place, error, seconds >= place.timeout - 0.1)


def _of_proxy(place: Place, proxy: Piped) -> Unreachable:
    ended = proxy.why() or f"gave no answer within {place.timeout:.0f} s"
    return Unreachable(f"{place.name}: its proxy_command {ended} ({proxy.command})", do="try that command by hand")


def _of_key_or_login(place: Place, error: Exception) -> Unreachable | None:
    if isinstance(error, BadHostKeyException):
        now, before = keys.fingerprint(error.key), keys.fingerprint(error.expected_key)
        return Unreachable(
            f"{place.name}: its host key CHANGED: {now} now, {before} in {place.known}",
            do="find out why before anything else; if the host was reinstalled, remove the old line there",
        )
    if isinstance(error, PasswordRequiredException):
        return Unreachable(f"{place.name}: the key {place.key} has a passphrase", do="add it to an agent: ssh-add")
    if isinstance(error, AuthenticationException):
        user = place.user or os.environ.get("USER", "you")
        return Unreachable(
            f"{place.name}: {place.where} refused the login of {user} ({error})",
            do=f"try `ssh {place.address}` by hand",
        )
    return None


def _of_network(place: Place, error: Exception, late: bool) -> Exception:
    name, where = place.name, place.where
    if isinstance(error, socket.gaierror):
        return Unreachable(
            f"{name}: the address {place.address} cannot be resolved", do="correct `address` in the inventory"
        )
    silent = any(words in str(error) for words in TIMED_OUT) or (late and BANNER in str(error))
    if isinstance(error, TimeoutError) or silent:
        return Unreachable(
            f"{name}: {where} did not answer within {place.timeout:.0f} s", do="is the host up and the port open?"
        )
    if isinstance(error, ChannelException) and place.jumped:
        return Unreachable(
            f"{name}: its jump host cannot reach {where} ({error.text})", do="is the host up and sshd running there?"
        )
    if isinstance(error, ConnectionRefusedError | NoValidConnectionsError):
        return Unreachable(f"{name}: {where} refused the connection", do="is sshd running there?")
    if isinstance(error, ConnectionResetError | EOFError) or BANNER in str(error):
        said = str(error) or "end of file"
        return TransientError(f"{name}: {where} closed the connection before SSH began ({said})")
    return Unreachable(f"{name}: no SSH connection to {where}: {str(error) or type(error).__name__}")
