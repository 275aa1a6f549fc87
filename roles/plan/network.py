"""Hosts -> which ports a deployment needs, and where its nodes meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING

from roles.inventory.endpoint import endpoint
from roles.inventory.errors import InputError

if TYPE_CHECKING:
    from roles.inventory.host import Host
    from roles.inventory.profile import Profile

# Attention DP: the base port, tokenizer, detokenizer, rpc, metrics, scheduler input, load collector; then a handshake.
# SGLang waits 30 s for each and gives up (utils/network.py and data_parallel_controller.py, 0.5.9 to 0.5.23).
_ATTENTION_DP = (0, 1, 2, 3, 4, 5, 6, 13)
_ONE_NODE_BASE, _ONE_NODE_HANDSHAKE = 233, 13  # both counted from the HTTP port
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def http_ports(profile: Profile, hosts: Sequence[Host]) -> list[int]:
    """Node by node. Lab hosts may share one machine: there each further node takes the next port."""
    seen: dict[str, int] = {}
    ports = []
    for host in hosts:
        ports.append(profile.port + seen.get(host.internal, 0))
        seen[host.internal] = seen.get(host.internal, 0) + 1
    return ports


def needed_ports(profile: Profile, node: int, http: int) -> tuple[int, ...]:
    """The ports that must be free on a node before it starts, the HTTP port first."""
    ports = tuple(dict.fromkeys((http, *(_internal_ports(profile, http) if node == 0 else ()))))
    if ports[-1] > 65535 or max(ports) > 65535:
        raise InputError(f"profile {profile.name}: port {max(ports)} would be needed, 65535 is the last one")
    return ports


def _internal_ports(profile: Profile, http: int) -> Iterator[int]:
    if profile.layout.nnodes > 1:
        yield from (profile.dist_port + step for step in (_ATTENTION_DP if profile.attention_dp else (0,)))
    elif profile.attention_dp:
        yield from (http + _ONE_NODE_BASE + step for step in _ATTENTION_DP[:-1])
        yield http + _ONE_NODE_HANDSHAKE


def meeting_point(profile: Profile, hosts: Sequence[Host]) -> str | None:
    """ADDRESS:PORT of node 0 as the others reach it; none for one node."""
    if len(hosts) < 2:
        return None
    address = hosts[0].internal
    if is_loopback(address) and not all(host.lab and is_loopback(host.internal) for host in hosts):
        what = f"{hosts[0].name}: {address} is where every host finds itself, not where the others find node 0"
        raise InputError(what, do=f"give {hosts[0].name} internal: the address that {hosts[1].name} reaches it at")
    return endpoint(address, profile.dist_port)


def is_loopback(address: str) -> bool:
    """Whether an address means the machine itself."""
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return address.lower().rstrip(".") in ("localhost", "localhost.localdomain", "ip6-localhost")


def probe_address(profile: Profile) -> str:
    """Where the HTTP server answers on its own host."""
    return _WILDCARDS.get(profile.host, profile.host)


def between_nodes(profile: Profile, host: Host) -> dict[str, str]:
    """The network interface for NCCL and Gloo, which otherwise may choose one that the other nodes cannot reach."""
    if profile.layout.nnodes < 2 or host.interface is None:
        return {}
    names = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
    return {name: host.interface for name in names if name not in profile.environment}
