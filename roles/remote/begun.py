"""Hosts that are connected to while this machine still imports, reads and plans: `begin`, and later `reach`."""

from __future__ import annotations

from collections.abc import Sequence

from roles.inventory import Host
from roles.remote.connect import CONNECT_TIMEOUT
from roles.remote.cores import together
from roles.remote.fleet import PARALLEL
from roles.remote.remote import Remote

_begun: dict[tuple[Host, bool, float], Remote] = {}


def begin(
    hosts: Sequence[Host],
    verb: str,
    *,
    accept_new: bool = False,
    timeout: float = CONNECT_TIMEOUT,
    parallel: int = PARALLEL,
) -> None:
    """Begin to connect to the first `parallel` hosts, and to start the program there that will be asked `verb`.

    The others are connected to when they are asked, as `each` has no more than `parallel` at once. What goes wrong
    comes up when the host is asked; nothing on a host is changed.
    """
    warm([_one(host, accept_new, timeout) for host in hosts], verb, parallel)


def warm(remotes: Sequence[Remote], verb: str, parallel: int = PARALLEL) -> None:
    """The same with connections that the caller has. One that is begun or open already stays as it is."""
    with together(len(remotes)):
        for remote in remotes[: max(1, parallel)]:
            remote.warm(verb)


def reach(host: Host, *, accept_new: bool = False, timeout: float = CONNECT_TIMEOUT) -> Remote:
    """The connection to a host: the one that was begun, which is the caller's from now on, else one to be opened."""
    return _begun.pop((host, accept_new, timeout), None) or Remote(host, accept_new=accept_new, timeout=timeout)


def _one(host: Host, accept_new: bool, timeout: float) -> Remote:
    return _begun.setdefault((host, accept_new, timeout), Remote(host, accept_new=accept_new, timeout=timeout))
