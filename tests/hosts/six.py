"""IPv6 for lab hosts: an address on each host's link, and one for whoever deploys; IPv4 is taken away meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from roles.lab.host import LabHost
from roles.lab.keys import known_hosts_line
from roles.lab.namespace import NamespaceHost
from tests.hosts.reach import second_sshd, shell


def prefix(host: LabHost) -> str:
    """Of the network that only this lab has."""
    tag = host.folder.tag  # six hexadecimal digits
    return f"fd00:{tag[:2]}:{tag[2:]}"


def address(host: LabHost) -> str:
    """Of the host there."""
    return f"{prefix(host)}::{host.number + 1}"


@contextmanager
def only_six(hosts: Sequence[LabHost], folder: Path) -> Iterator[dict[str, dict[str, Any]]]:
    """The hosts without IPv4, for as long as the block runs: name -> what an inventory says of each.

    Their sshd listens on a port that is not 22 and on IPv6 alone.
    """
    network = _network(hosts)
    bridge = hosts[0].folder.bridge
    network.quietly("-6", "addr", "add", f"{prefix(hosts[0])}::1/64", "dev", bridge, "nodad")
    ways: dict[str, dict[str, Any]] = {}
    stack = [second_sshd(host, folder, f"ListenAddress {address(host)}") for host in hosts]
    for host in hosts:
        shell(host, f"ip -6 addr add {address(host)}/64 dev eth0 nodad; ip -4 addr flush dev eth0")
    try:
        known = ""
        for host, second in zip(hosts, stack, strict=True):
            way = second.__enter__()
            known += known_hosts_line([address(host)], way["port"], host.home / "host_key")
            ways[host.name] = {"address": address(host), "internal": address(host), "port": way["port"]}
        (folder / "known_six").write_text(known)
        yield {name: {**way, "known_hosts": str(folder / "known_six")} for name, way in ways.items()}
    finally:
        for host, second in zip(hosts, stack, strict=True):
            if host.name in ways:
                second.__exit__(None, None, None)
            shell(host, f"ip -4 addr add {host.address}/16 dev eth0")
        network.quietly("-6", "addr", "del", f"{prefix(hosts[0])}::1/64", "dev", bridge)


def _network(hosts: Sequence[LabHost]) -> Any:
    first = hosts[0]
    if not isinstance(first, NamespaceHost) or first.proxy:
        pytest.skip("hosts that are reached through a relay have no IPv6 address for this machine")
    if not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    return first.network
