"""The system that LXC containers start from: made once with debootstrap, of the same release as this machine."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from roles.inventory.errors import AllranksError, InputError
from roles.lab.commands import need, run
from roles.lab.record import Record

PACKAGES = "systemd-sysv,dbus,openssh-server,iproute2,procps,python3"
MASKED = (
    "getty.target",
    "console-getty.service",
    "systemd-udevd.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
)
SIZES = "about 60 MB to download, 220 MB on disk"  # measured for Debian 12
Say = Callable[[str], None]


def place(record: Record) -> Path:
    """Beside the SGLang install: labs that share the one share the other."""
    return Path(record.opt).parent / "lxc-root"


def make(record: Record, say: Say) -> None:
    """Make it unless it is there. It appears under its own name only when it is complete."""
    need("lxc-start")
    done = place(record)
    if done.exists():
        return
    suite, mirror = _release()
    say(f"lab: making {done} once: {suite} from {mirror}, {SIZES}")
    began = time.monotonic()
    new = done.with_name(done.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    argv = [need("debootstrap"), "--variant=minbase", f"--include={PACKAGES}", suite, str(new), mirror]
    said = subprocess.run(argv, capture_output=True, text=True, check=False)
    if said.returncode:
        last = [line for line in (said.stdout + said.stderr).splitlines() if line.startswith("E:")][-1:]
        shutil.rmtree(new, ignore_errors=True)
        raise AllranksError(f"debootstrap {suite} from {mirror} failed: {' '.join(last)}", do="see to the network")
    run([need("systemctl"), f"--root={new}", "mask", *MASKED], why="lab containers")
    for cache in ("var/cache/apt/archives", "var/lib/apt/lists"):
        shutil.rmtree(new / cache)
        (new / cache).mkdir()
    for key in new.glob("etc/ssh/ssh_host_*"):
        key.unlink()
    new.rename(done)
    say(f"  {'container root':34} {time.monotonic() - began:6.1f} s")


def _release() -> tuple[str, str]:
    """This machine's release and where its packages come from."""
    lines = Path("/etc/os-release").read_text().splitlines()
    suite = dict(line.split("=", 1) for line in lines if "=" in line).get("VERSION_CODENAME", "").strip('"')
    if not suite:
        raise InputError("LXC hosts are made with debootstrap, and this is no Debian or Ubuntu", do="--kind namespace")
    argv = [need("apt-get"), "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"]
    for line in run(argv, why="lab containers").splitlines():
        codename, _, mirror = line.partition(" ")
        if codename == suite:
            return suite, mirror
    raise InputError(f"apt names no package source for {suite}", do="see /etc/apt/sources.list.d")
