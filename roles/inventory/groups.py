"""Groups: names of hosts or of other groups -> hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from roles.inventory.document import Document
from roles.inventory.host import Host
from roles.inventory.nearest import did_you_mean

Groups = Mapping[str, tuple[str, ...]]

# Hosts that come and go with `inv lab.up`: a group may name them while there is no lab.
_LAB = re.compile(r"labs?\d*")


def members(name: str, groups: Groups) -> tuple[str, ...]:
    """The hosts a name stands for, in order, each once; a name that is no group stands for itself."""
    return tuple(dict.fromkeys(_walk(name, groups)))


def _walk(name: str, groups: Groups) -> Iterator[str]:
    if name not in groups:
        yield name
    for member in groups.get(name, ()):
        yield from _walk(member, groups)


def check_groups(groups: Groups, hosts: Mapping[str, Host], sources: Mapping[str, Document]) -> None:
    """Note members that do not exist, and groups that contain themselves."""
    for group, names in groups.items():
        for place, name in enumerate(names):
            path = ("groups", group, place)
            if name not in groups and name not in hosts and not _LAB.fullmatch(name):
                near = did_you_mean(name, [*hosts, *groups])
                sources[group].problem(path, f"no host or group {name!r}{near}")
            elif circle := _circle(group, name, groups):
                sources[group].problem(path, f"a group that contains itself: {' > '.join(circle)}")


def _circle(group: str, name: str, groups: Groups) -> list[str]:
    """The way from a member back to its group, if there is one."""
    ways = [[group, name]]
    seen = set()
    while ways:
        way = ways.pop()
        if way[-1] == group:
            return way
        if way[-1] not in seen:
            seen.add(way[-1])
            ways += [[*way, further] for further in groups.get(way[-1], ())]
    return []
