"""up and down: the lab's life. One at a time per clone; each may be repeated, and after anything that died."""

from __future__ import annotations

import fcntl
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from roles.inventory.errors import AllranksError, InputError, Refused
from roles.lab import ground, kinds, rootfs, userns, written
from roles.lab.commands import need, run
from roles.lab.folder import Folder
from roles.lab.host import LabHost
from roles.lab.keys import make_key
from roles.lab.loopback import free_port
from roles.lab.process import boot_id
from roles.lab.record import Record
from roles.lab.roster import HOSTS, hosts_of, status

Say = Callable[[str], None]
PLAIN = re.compile(r"[\w./+@~-]+")
MOST = 1000  # hosts that the addressing has room for, and no machine has memory for


def up(root: Path, hosts: int, kind: str, say: Say, opt: Path | None = None) -> list[dict[str, Any]]:
    """Bring up lab1..labN; those that run are kept. What this call began it takes away when it fails."""
    if not 1 <= hosts <= MOST:
        raise InputError(f"a lab has 1 to {MOST} hosts, not {hosts}")
    folder, began = Folder.of(root, opt), time.monotonic()
    if not PLAIN.fullmatch(str(folder.path) + str(folder.opt)):
        raise InputError(f"{folder.path}: mount options and ssh_config cannot hold such a path", do="move the clone")
    with _alone(folder):
        before = Record.load(folder.state)
        try:
            record = _begin(folder, before, hosts, kind, say)
            added = _boot(folder, record, say)
        except BaseException:
            _undo(folder, before)
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
    return ground.lay(folder, record, hosts_of(folder, record))


def _undo(folder: Folder, before: Record | None) -> None:
    """After an `up` that failed: what it added goes, what was there before stays."""
    present = Record.load(folder.state)
    if present is None:
        return
    if before is None:
        _take_down(folder, say=lambda _: None)
        return
    for host in hosts_of(folder, present):
        if host.number not in before.hosts:
            host.crash()
            shutil.rmtree(host.home, ignore_errors=True)
    replace(present, hosts=before.hosts).save(folder.state)


def _boot(folder: Folder, record: Record, say: Say) -> Sequence[LabHost]:
    hosts = hosts_of(folder, record)
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
    for host in hosts_of(folder, record):
        host.crash()
    if record.holder and record.holder.alive:  # files of the hosts' other users are not the outer user's to remove
        run([*userns.enter(record), "rm", "-rf", str(folder.path / "hosts")], why="lab disks")
    ground.lift(folder, record)
    written.remove_all(folder)
    for place in (folder.layers, folder.path / "hosts"):
        if place.exists():
            shutil.rmtree(place)
    folder.state.unlink()
    say(f"lab: down, {len(record.hosts)} host{'s' * (len(record.hosts) > 1)} ended")
