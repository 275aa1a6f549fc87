"""Labs for tests: beside the clone's own, each in a folder that names its maker, so that none outlives its test run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from roles import lab
from roles.lab.host import LabHost
from roles.lab.process import Process
from tests.hosts import standin

PLACE = Path(tempfile.gettempdir()) / f"allranks-tests-{os.getuid()}"
SEEN_AT = "/opt/allranks-lab"  # where hosts of most kinds see `opt`


@contextmanager
def made(name: str, hosts: int, *, kind: str = "auto", opt: Path | None = None) -> Iterator[list[LabHost]]:
    """Hosts for as long as the block runs. Without `opt` the stand-in is what they have for SGLang."""
    sweep()
    me = Process.of(os.getpid())
    root = PLACE / f"{me.pid}-{me.start}-{name}"
    root.mkdir(parents=True)
    try:
        own = opt or root / "opt"
        if opt is None:
            standin.install(own, SEEN_AT)
        lab.up(root, hosts, kind, lambda _: None, own)
        found = lab.lab_hosts(root)
        if opt is None and found[0].opt != SEEN_AT:
            standin.install(own, found[0].opt)
        yield found
    finally:
        end(root)


def end(root: Path) -> None:
    """Nothing of that lab is left."""
    lab.down(root, lambda _: None)
    shutil.rmtree(root, ignore_errors=True)


def sweep() -> None:
    """End the labs of test runs that were killed."""
    for root in PLACE.glob("*-*-*"):
        pid, start, _ = root.name.split("-", 2)
        maker = Process.of(int(pid))
        if not (maker.alive and maker.start == int(start)):
            end(root)


def disk(host: LabHost) -> Path:
    """The host's home folder, as this machine sees it."""
    return host.home / ("home" if host.record.kind == "loopback" else "root")


def clean(hosts: Sequence[LabHost]) -> None:
    """As hosts that were just set up: up, reachable, nothing in home and /tmp, no process but their own.

    A host on which nothing was done is left as it is: a boot takes half a second of a busy machine.
    """
    used = [host for host in hosts if _is_used(host)]
    for host in used:
        host.crash()
        for folder in (disk(host), host.home / "tmp"):
            for entry in folder.iterdir() if folder.exists() else ():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    if used:
        type(used[0]).boot_all(used)


def _is_used(host: LabHost) -> bool:
    sshd = 1 if host.record.kind == "loopback" else 2  # with the first process
    return len(host.pids()) != sshd or any(disk(host).iterdir()) or not host.answers(0)
