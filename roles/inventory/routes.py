"""How a host is reached: `jump` becomes the host it means, and local files get absolute paths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from roles.inventory.document import Document
from roles.inventory.host import Host
from roles.inventory.nearest import did_you_mean

_ELSEWHERE = re.compile(r"(?:(?P<user>[^@]+)@)?(?P<address>\[[^\]]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,6}))?")


def with_routes(hosts: Mapping[str, Host], sources: Mapping[str, Document], root: Path) -> dict[str, Host]:
    """The same hosts, each with `via` where it has a `jump`; problems are noted in its document."""
    return {name: _routed(name, hosts, sources, root, ()) for name in hosts}


def _routed(
    name: str, hosts: Mapping[str, Host], sources: Mapping[str, Document], root: Path, passed: tuple[str, ...]
) -> Host:
    host = hosts[name]
    if name in passed:
        circle = " > ".join([*passed, name])
        sources[name].problem(("hosts", name, "jump"), f"hosts that are reached through each other: {circle}")
        return host
    via = None
    if host.jump and host.jump in hosts:
        via = _routed(host.jump, hosts, sources, root, (*passed, name))
    elif host.jump:
        via = _elsewhere(host, host.jump, hosts, sources[name])
    files = {field: _local(getattr(host, field), root) for field in ("key", "known_hosts")}
    return host.model_copy(update={"via": via, **files})


def _elsewhere(host: Host, jump: str, hosts: Mapping[str, Host], document: Document) -> Host | None:
    """A jump host that is not in the inventory: user@host:port."""
    path = ("hosts", host.name, "jump")
    if not any(mark in jump for mark in "@:."):
        document.problem(path, f"no host {jump!r} in the inventory{did_you_mean(jump, hosts)}; or write user@host:port")
        return None
    parts = _ELSEWHERE.fullmatch(jump)
    if not parts:
        document.problem(path, f"expected user@host:port, found {jump!r}")
        return None
    address = parts["address"].strip("[]")
    port = int(parts["port"]) if parts["port"] else None
    name = re.sub(r"[^A-Za-z0-9]+", "-", address).strip("-")
    try:
        return Host(name=name or "jump", address=address, user=parts["user"], port=port)
    except ValidationError as error:
        document.problem(path, f"expected user@host:port, found {jump!r} ({error.errors()[0]['msg']})")
        return None


def _local(path: str | None, root: Path) -> str | None:
    return str(root / Path(path).expanduser()) if path else None
