"""A lab's record → its hosts, and how they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roles.lab.folder import Folder
from roles.lab.host import LabHost
from roles.lab.loopback import LoopbackHost
from roles.lab.lxc import LxcHost
from roles.lab.namespace import NamespaceHost
from roles.lab.record import Record

HOSTS: dict[str, type[LabHost]] = {
    "namespace": NamespaceHost,
    "user-namespace": NamespaceHost,
    "loopback": LoopbackHost,
    "lxc": LxcHost,
}


def status(root: Path) -> list[dict[str, Any]]:
    """A row per host: name, address, port, kind, up, pid, ssh (the command to type)."""
    return [
        {
            "name": host.name,
            "address": host.address,
            "port": host.port,
            "kind": host.record.kind,
            "up": host.alive and host.answers(0),
            "pid": host.process.pid if host.process and host.alive else None,
            "ssh": host.ssh(),
        }
        for host in lab_hosts(root)
    ]


def lab_hosts(root: Path) -> list[LabHost]:
    """The hosts of the lab of the clone at `root`; none when it is down."""
    folder = Folder.of(root)
    record = Record.load(folder.state)
    return hosts_of(folder, record) if record else []


def hosts_of(folder: Folder, record: Record) -> list[LabHost]:
    return [HOSTS[record.kind](folder, record, number) for number in record.hosts]
