"""A lab host's root: this machine's own system, with a home, /tmp, /etc and /var that are the host's."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import syscalls

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
EMPTY = ("proc", "sys", "dev", "run", "root", "home", "tmp", "mnt", "opt", "var/log", "var/tmp", "var/lib")
OPT = "opt/allranks-lab"


@dataclass(frozen=True)
class Disk:
    """Where a host's files come from. `layer` holds the overlay's upper and work folders; None: bind mounts only."""

    name: str
    address: str
    home: str
    layer: str | None
    opt: str
    shown: tuple[str, ...]  # folders of this machine shown read-only at their own path, e.g. the base Python

    @property
    def root(self) -> str:
        return f"{self.home}/mnt"


def build(disk: Disk) -> None:
    """Mount the whole disk at `disk.root`."""
    syscalls.mount("", "/", "", syscalls.RECURSIVE | syscalls.PRIVATE)
    for folder, mode in (("root", 0o700), ("home", 0o755), ("tmp", 0o1777), ("mnt", 0o755)):
        Path(disk.home, folder).mkdir(exist_ok=True)
        Path(disk.home, folder).chmod(mode)
    if not (disk.layer and _overlay(disk)):
        _binds(disk)
    _kernel_views(disk.root)
    for folder in ("root", "home", "tmp"):
        syscalls.bind(f"{disk.home}/{folder}", f"{disk.root}/{folder}")
    _show(disk)
    _identity(disk)


def _overlay(disk: Disk) -> bool:
    """Everything this machine's root has, writable; False where the kernel will not have it so."""
    layers = f"lowerdir=/,upperdir={disk.layer}/upper,workdir={disk.layer}/work"
    try:
        for folder in ("upper", "work"):
            Path(disk.layer or "", folder).mkdir(parents=True, exist_ok=True)
        syscalls.mount("lab", disk.root, "overlay", 0, layers)
    except OSError as error:  # a root that is an overlay itself may be one too many
        sys.stderr.write(f"{error}: /usr is shared read-only instead, /etc and /var are the host's own\n")
        return False
    for folder in ("usr", "opt", "var"):  # an overlay shows no file system that is mounted inside its lower layer
        if os.path.ismount(f"/{folder}"):
            syscalls.bind(f"/{folder}", f"{disk.root}/{folder}", read_only=folder != "var")
    return True


def _binds(disk: Disk) -> None:
    """The system folders shared read-only; /etc a copy of what may be read; /var new and nearly empty."""
    root = Path(disk.root)
    syscalls.mount("lab", disk.root, "tmpfs", 0, "mode=755")
    for folder in SYSTEM:
        there = Path("/", folder)
        if there.is_symlink():
            (root / folder).symlink_to(there.readlink())
        elif there.is_dir():
            (root / folder).mkdir()
            syscalls.bind(str(there), str(root / folder), read_only=True)
    for folder in ("etc", "var"):
        own = Path(disk.home, folder)
        if folder == "etc" and not own.exists():
            with contextlib.suppress(shutil.Error):  # files that only root may read
                shutil.copytree("/etc", own, symlinks=True)
        own.mkdir(exist_ok=True)
        (root / folder).mkdir()
        syscalls.bind(str(own), str(root / folder))
    for folder in EMPTY:
        (root / folder).mkdir(parents=True, exist_ok=True)


def _kernel_views(root: str) -> None:
    syscalls.mount("proc", f"{root}/proc", "proc")
    _either(lambda: syscalls.mount("sysfs", f"{root}/sys", "sysfs"), lambda: syscalls.bind("/sys", f"{root}/sys"))
    syscalls.bind("/dev", f"{root}/dev")
    own_terminals = "newinstance,ptmxmode=0666,mode=620"
    _either(
        lambda: syscalls.mount("devpts", f"{root}/dev/pts", "devpts", 0, own_terminals + ",gid=5"),
        lambda: syscalls.mount("devpts", f"{root}/dev/pts", "devpts", 0, own_terminals),
    )
    if Path("/dev/shm").is_dir():
        syscalls.mount("shm", f"{root}/dev/shm", "tmpfs")
    syscalls.mount("run", f"{root}/run", "tmpfs", 0, "mode=755")


def _either(first: Callable[[], None], second: Callable[[], None]) -> None:
    try:
        first()
    except OSError:  # what a user namespace may not do
        second()


def _show(disk: Disk) -> None:
    places = [(disk.opt, f"{disk.root}/{OPT}"), *((path, disk.root + path) for path in disk.shown)]
    for source, target in places:
        Path(target).mkdir(parents=True, exist_ok=True)
        syscalls.bind(source, target, read_only=True)


def _identity(disk: Disk) -> None:
    etc = Path(disk.root, "etc")
    for name, text in (
        ("hostname", f"{disk.name}\n"),
        ("hosts", f"127.0.0.1 localhost\n{disk.address} {disk.name}\n"),
    ):
        (etc / name).unlink(missing_ok=True)
        (etc / name).write_text(text)
    _unlock_root(etc / "shadow")


def _unlock_root(shadow: Path) -> None:
    """sshd without PAM refuses even a key to an account whose password field says locked ("!")."""
    text = shadow.read_text() if os.access(shadow, os.R_OK) else ""
    entry = re.compile(r"^root:[^:]*:", re.MULTILINE)
    open_entry = "root:*:19000:0:99999:7:::\n"
    shadow.write_text(entry.sub("root:*:", text) if entry.search(text) else open_entry + text)
