"""A lab → the files that lead to it: hosts.yml (the inventory's format), known_hosts, ssh_config."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from roles.lab.folder import Folder
from roles.lab.host import LabHost
from roles.lab.keys import known_hosts_line
from roles.lab.pythons import on_host
from roles.lab.record import write

KIND = {"namespace": "vm", "user-namespace": "vm", "loopback": "metal", "lxc": "lxc"}  # what each comes closest to
HEAD = "# Written by `inv lab.up`, removed by `inv lab.down`: changes are lost.\n"


def write_all(folder: Folder, hosts: Sequence[LabHost]) -> None:
    write(folder.known_hosts, "".join(_known(host) for host in hosts))
    write(folder.ssh_config, HEAD + "".join(_stanza(folder, host) for host in hosts) + _common(folder))
    write(folder.inventory, HEAD + _inventory(folder, hosts))


def remove_all(folder: Folder) -> None:
    for path in (folder.known_hosts, folder.ssh_config, folder.inventory):
        path.unlink(missing_ok=True)


def names(host: LabHost) -> list[str]:
    """lab1 is also called lab: what a first command is typed with."""
    return [host.name, "lab"] if host.number == 1 else [host.name]


def _known(host: LabHost) -> str:
    return known_hosts_line([*names(host), host.address], host.port, host.home / "host_key")


def _stanza(folder: Folder, host: LabHost) -> str:
    lines = [
        f"Host {' '.join(names(host))}",
        f"  HostName {host.address}",
        f"  Port {host.port}",
        f"  User {host.user}",
    ]
    if host.proxy:
        lines.append(f"  ProxyCommand {shlex.join(host.proxy)}")
    return "\n".join(lines) + "\n"


def _common(folder: Folder) -> str:
    return (
        "Host *\n"
        f'  IdentityFile "{folder.key}"\n'
        "  IdentitiesOnly yes\n"
        f'  UserKnownHostsFile "{folder.known_hosts}"\n'
        "  GlobalKnownHostsFile /dev/null\n"
        "  StrictHostKeyChecking yes\n"
    )


def entry(folder: Folder, host: LabHost) -> dict[str, Any]:
    """The host as the inventory knows it."""
    fields: dict[str, Any] = {
        "address": host.address,
        "user": host.user,
        "port": host.port,
        "key": str(folder.key),
        "known_hosts": str(folder.known_hosts),
        "proxy_command": shlex.join(host.proxy) or None,
        "kind": KIND[host.record.kind],
        "python": on_host(),
        "venv": f"{host.opt}/venv",
        "models": f"{host.opt}/models",
        "internal": host.address,
        "interface": host.interface,
        "lab": True,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _inventory(folder: Folder, hosts: Sequence[LabHost]) -> str:
    """YAML by hand: JSON spells every scalar in a way that YAML reads alike."""
    lines = ["hosts:"]
    for host in hosts:
        for name in names(host):
            lines.append(f"  {name}:")
            lines += [f"    {key}: {json.dumps(value)}" for key, value in entry(folder, host).items()]
    lines += ["groups:", f"  labs: [{', '.join(host.name for host in hosts)}]"]
    return "\n".join(lines) + "\n"
