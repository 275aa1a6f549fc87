"""What can never become a deployment that all ranks answer from, refused before any host is asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from roles.inventory.errors import InputError

if TYPE_CHECKING:
    from roles.inventory.host import Host
    from roles.inventory.profile import Profile


def check(profile: Profile, hosts: Sequence[Host]) -> None:
    """Raise at the first thing that is wrong."""
    _number_of_hosts(profile, hosts)
    _different_machines(hosts)
    _ranks_can_be_followed(profile)


def _number_of_hosts(profile: Profile, hosts: Sequence[Host]) -> None:
    nodes, given = profile.layout.nnodes, ", ".join(host.name for host in hosts) or "none"
    if len(hosts) == nodes:
        return
    if nodes == 1 and len(hosts) > 1:
        what = f"profile {profile.name} is for one host, {len(hosts)} were given ({given})"
        raise InputError(what, do="name one, or --replicas for a deployment on each")
    what = f"profile {profile.name}: layout.nnodes is {nodes}, {len(hosts)} hosts were given ({given})"
    raise InputError(what, do=f"give {nodes} hosts, node 0 first")


def _different_machines(hosts: Sequence[Host]) -> None:
    """Two names for one machine would start two nodes on the same GPUs."""
    for one, other in combinations(hosts, 2):
        if _login(one) == _login(other):
            raise InputError(
                f"{one.name} and {other.name} are the same host ({one.address})", do="give different hosts"
            )
        # Hosts of the lab may share this machine's loopback: they have no GPUs to fight over, and get different ports.
        if one.internal.lower() == other.internal.lower() and not (one.lab and other.lab):
            what = f"{one.name} and {other.name} are one machine to the other nodes ({one.internal})"
            raise InputError(what, do="give each its own internal: address")


def _login(host: Host) -> tuple[object, ...]:
    return host.address.lower(), host.port, host.proxy_command, host.jump


def _ranks_can_be_followed(profile: Profile) -> None:
    """Refuse flags that give ranks titles which the plan cannot foretell."""
    for flag in ("attn_cp_size", "moe_dp_size"):
        if profile.flags.get(flag) not in (None, False, 1):
            raise InputError(f"profile {profile.name}: flags.{flag}: layouts with this axis are not supported yet")
