"""Which Python does what in the lab: runs on a host, builds the SGLang install, has to be shown to a host."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from roles.inventory.errors import InputError
from roles.lab.commands import SYSTEM_PATH

HIDDEN = ("/root", "/home", "/tmp")  # what a host has of its own; a Python beneath them has to be shown again
PYTHONS = ((3, 11), (3, 12), (3, 13))  # the pinned packages have wheels for these


def shown(opt: Path) -> list[str]:
    """The Pythons that a host needs and does not see: this one's and the SGLang install's base."""
    bases = {sys.base_prefix}
    settings = opt / "venv/pyvenv.cfg"
    if settings.exists():
        home = dict(line.split(" = ", 1) for line in settings.read_text().splitlines() if " = " in line)["home"]
        bases.add(str(Path(home).parent))
    return sorted(base for base in bases if base.startswith(tuple(f"{hidden}/" for hidden in HIDDEN)))


def on_host() -> str | None:
    """None where the host's own `python3` is found by sshd's PATH."""
    has_own = any(Path(folder, "python3").exists() for folder in SYSTEM_PATH.split(":"))
    return None if has_own else f"{sys.base_prefix}/bin/python3"


def to_build_on() -> str:
    """The Python to build on: the one that runs this, or else one of the right version found on PATH."""
    if sys.platform != "linux":
        raise InputError(f"SGLang for the lab needs Linux, this is {sys.platform}")
    candidates = [f"{sys.base_prefix}/bin/python3"] if sys.version_info[:2] in PYTHONS else []
    candidates += filter(None, (shutil.which(f"python{major}.{minor}") for major, minor in PYTHONS))
    for candidate in candidates:
        if (
            subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode
            == 0
        ):
            return candidate
    if candidates:
        raise InputError(f"{candidates[0]} cannot make a virtualenv", do="as root: apt-get install python3-venv")
    found = ".".join(map(str, sys.version_info[:2]))
    raise InputError(f"SGLang for the lab needs Python 3.11 to 3.13, this is {found}", do="put a python3.11 on PATH")
