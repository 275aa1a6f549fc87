"""up, down, status: the lab's life. One at a time per clone; each may be repeated, and after anything that died."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from roles.inventory.errors import AllranksError, InputError, Refused
from roles.lab import inotify, kinds, lxc, network, rootfs, userns, written
from roles.lab.commands import need, run
from roles.lab.folder import Folder
from roles.lab.host import LabHost
from roles.lab.keys import make_key
from roles.lab.loopback import LoopbackHost, free_port
from roles.lab.lxc import LxcHost
from roles.lab.namespace import NamespaceHost
from roles.lab.process import boot_id
from roles.lab.record import Record

Say = Callable[[str], None]
HOSTS: dict[str, type[LabHost]] = {
    "namespace": NamespaceHost,
    "user-namespace": NamespaceHost,
    "loopback": LoopbackHost,
    "lxc": LxcHost,
}
MOST = 1000  # hosts that the addressing has room for, and no machine has memory for


def up(root: Path, hosts: int, kind: str, say: Say, opt: Path | None = None) -> list[dict[str, Any]]:
    """Bring up lab1..labN; those that run are kept. What this call began it takes away when it fails."""
    if not 1 <= hosts <= MOST:
        raise InputError(f"a lab has 1 to {MOST} hosts, not {hosts}")
    folder, began = Folder.of(root, opt), time.monotonic()
    with _alone(folder):
        before = Record.load(folder.state)
        try:
            record = _begin(folder, before, hosts, kind, say)
            added = _boot(folder, record, say)
        except BaseException:
            if before is None:
                _take_down(folder, say=lambda _: None)
            raise
        rows = status(root)
    seconds = time.monotonic() - began
    what = f"{len(added)} started, {len(rows)} up" if added else f"{len(rows)} were up already"
    say(f"lab: {what} ({record.kind}) in {seconds:.1f} s; try: {rows[0]['ssh']}")
    return rows


def down(root: Path, say: Say) -> None:
    """End what `up` made. The client key and the SGLang install stay."""
    folder = Folder.of(root)
    with _alone(folder):
        _take_down(folder, say)


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
    return _hosts(folder, record) if record else []


def _hosts(folder: Folder, record: Record) -> list[LabHost]:
    return [HOSTS[record.kind](folder, record, number) for number in record.hosts]


@contextmanager
def _alone(folder: Folder) -> Iterator[None]:
    folder.path.mkdir(parents=True, exist_ok=True)
    with (folder.path / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"another command is changing the lab in {folder.path}", do="wait for it") from None
        yield


def _begin(folder: Folder, before: Record | None, hosts: int, asked: str, say: Say) -> Record:
    """The record of the lab to be, with its network made; written down before the first host boots."""
    need("sshd")
    if before and asked not in ("auto", before.kind):
        raise Refused(f"the lab is up with hosts of kind {before.kind}, not {asked}", do="first: inv lab.down")
    if before:
        record = replace(before, hosts=tuple(range(1, max(hosts, len(before.hosts)) + 1)))
        if record.boot != boot_id():
            say("lab: this machine was restarted since; its hosts are booted again")
            record = replace(record, boot=boot_id())
    else:
        kind, why = kinds.decide(asked)
        say(f"lab: {hosts} host{'s' * (hosts > 1)} of kind {kind}: {why}")
        port = free_port(hosts) if kind == "loopback" else 22
        record = Record(kind, tuple(range(1, hosts + 1)), port, boot_id(), str(folder.opt))
    Path(record.opt).mkdir(parents=True, exist_ok=True)
    make_key(folder.key, "allranks lab")
    record.save(folder.state)
    if record.kind == "lxc":
        rootfs.make(record, say)
    return _ground(folder, record)


def _ground(folder: Folder, record: Record) -> Record:
    """What the hosts stand on: user namespace, network, overlay layers."""
    if record.kind == "loopback":
        return record
    if record.kind == "user-namespace" and not (record.holder and record.holder.alive):
        _crash_all(folder, record)
        record = replace(record, holder=userns.hold(), octet=0)
        record.save(folder.state)
    enter = userns.enter(record)
    if record.octet:
        there = network.Network(record.octet, folder.bridge, enter)
        if not there.has_link(there.bridge):
            _crash_all(folder, record)
        there.make()
    else:
        record = replace(record, octet=network.choose(folder, enter).octet)
        record.save(folder.state)
    if record.kind == "lxc":
        record = inotify.raise_for(record)
        record.save(folder.state)
    if record.kind == "namespace" and not folder.layers.is_mount():
        folder.layers.mkdir(exist_ok=True)
        run([need("mount"), "-t", "tmpfs", "-o", "mode=755", "allranks-lab", str(folder.layers)], why="lab disks")
    return record


def _crash_all(folder: Folder, record: Record) -> None:
    for host in _hosts(folder, record):
        host.crash()


def _boot(folder: Folder, record: Record, say: Say) -> Sequence[LabHost]:
    hosts = _hosts(folder, record)
    added = [host for host in hosts if not host.alive]
    HOSTS[record.kind].boot_all(added)
    written.write_all(folder, hosts)
    silent = [host.name for host in hosts if not host.answers()]
    if silent:
        raise AllranksError(f"{', '.join(silent)}: sshd does not answer", do=f"see {folder.path}/hosts/*/boot.log")
    return added


def _take_down(folder: Folder, say: Say) -> None:
    record = Record.load(folder.state)
    if record is None:
        say("lab: nothing is up")
        return
    for host in _hosts(folder, record):
        host.crash()
    if record.kind == "lxc":
        lxc.remove_cgroups(folder)
        inotify.restore(record)
    if record.octet and (not record.holder or record.holder.alive):
        network.Network(record.octet, folder.bridge, userns.enter(record)).take_away()
    if record.holder:
        record.holder.end()
    if folder.layers.is_mount():
        subprocess.run([need("umount"), "-l", str(folder.layers)], check=False)
    written.remove_all(folder)
    for place in (folder.layers, folder.path / "hosts"):
        if place.exists():
            shutil.rmtree(place)
    folder.state.unlink()
    say(f"lab: down, {len(record.hosts)} host{'s' * (len(record.hosts) > 1)} ended")
