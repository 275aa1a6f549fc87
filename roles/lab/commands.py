"""This machine's own programs: found, run, and explained in one line when they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from roles.inventory.errors import AllranksError, InputError

PACKAGES = {  # program -> its package with apt, with dnf
    "sshd": ("openssh-server", "openssh-server"),
    "ssh-keygen": ("openssh-client", "openssh"),
    "ip": ("iproute2", "iproute"),
    "nsenter": ("util-linux", "util-linux"),
    "newuidmap": ("uidmap", "shadow-utils"),
    "newgidmap": ("uidmap", "shadow-utils"),
    "lxc-start": ("lxc", "lxc"),
    "debootstrap": ("debootstrap", "debootstrap"),
}
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def find(program: str) -> str | None:
    """Where `program` lies; the system folders are searched too, which an ordinary user's PATH may lack."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":" + SYSTEM_PATH)


def need(program: str) -> str:
    """Where `program` lies, or the command that installs it."""
    found = find(program)
    if not found:
        apt, dnf = PACKAGES.get(program, (program, program))
        how = f"dnf install {dnf}" if find("dnf") and not find("apt-get") else f"apt-get install {apt}"
        raise InputError(f"the lab needs {program}, which is not on this machine", do=f"as root: {how}")
    return found


def run(argv: Sequence[str], *, text: str = "", why: str = "") -> str:
    """Run `argv`, give it `text`, return its output."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise AllranksError(f"{why or 'lab'}: {os.path.basename(argv[0])} failed: {last[0]}")  # noqa: PTH119
    return done.stdout
