"""What a lab's hosts stand on: user namespace, network, overlay layers, limits. Laid before the first one boots."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace

from roles.lab import inotify, lxc, network, userns
from roles.lab.commands import need, run
from roles.lab.folder import Folder
from roles.lab.host import LabHost
from roles.lab.record import Record


def lay(folder: Folder, record: Record, hosts: Sequence[LabHost]) -> Record:
    """Make what is missing, writing down each piece as it is made; `hosts` end when it goes from under them."""
    if record.kind == "loopback":
        return record
    if record.kind == "user-namespace" and not (record.holder and record.holder.alive):
        _crash(hosts)
        record = _saved(folder, replace(record, holder=userns.hold(), octet=0))
    record = _network(folder, record, hosts)
    if record.kind == "lxc":
        record = _saved(folder, inotify.raise_for(record))
    if record.kind == "namespace" and not folder.layers.is_mount():
        folder.layers.mkdir(exist_ok=True)
        run([need("mount"), "-t", "tmpfs", "-o", "mode=755", "allranks-lab", str(folder.layers)], why="lab disks")
    return record


def _network(folder: Folder, record: Record, hosts: Sequence[LabHost]) -> Record:
    enter = userns.enter(record)
    if not record.octet:
        return _saved(folder, replace(record, octet=network.choose(folder, enter).octet))
    there = network.Network(record.octet, folder.bridge, enter)
    if not there.has_link(there.bridge):
        _crash(hosts)
    there.make()
    return record


def _saved(folder: Folder, record: Record) -> Record:
    record.save(folder.state)
    return record


def _crash(hosts: Sequence[LabHost]) -> None:
    for host in hosts:
        host.crash()


def lift(folder: Folder, record: Record) -> None:
    """Take all of it away; what is gone already is no trouble."""
    if record.kind == "lxc":
        lxc.remove_cgroups(folder)
        inotify.restore(record)
    if record.octet and (not record.holder or record.holder.alive):
        network.Network(record.octet, folder.bridge, userns.enter(record)).take_away()
    if record.holder:
        record.holder.end()
    if folder.layers.is_mount():
        subprocess.run([need("umount"), "-l", str(folder.layers)], check=False)
