"""Runs a command as an ordinary user who has no account here: ordinary.py UID FOLDER COMMAND...

The user's home is FOLDER/home.

Root alone can become somebody else. What such a user needs is mounted over this machine's files, in a mount namespace
that ends with the command: an account, subordinate ids, and a path to the Python that runs the tests.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from roles.lab.inside import syscalls

FIRST_SUBORDINATE = 4_300_000


def main(uid: int, folder: Path, command: list[str]) -> None:
    syscalls.unshare(syscalls.NEW_MOUNT)
    syscalls.mount("", "/", "", syscalls.RECURSIVE | syscalls.PRIVATE)
    home = folder / "home"
    os.chown(home, uid, uid)
    added = {
        "passwd": f"lab-user:x:{uid}:{uid}::{home}:/bin/bash\n",
        "group": f"lab-user:x:{uid}:\n",
        "subuid": f"lab-user:{FIRST_SUBORDINATE}:65536\n",
        "subgid": f"lab-user:{FIRST_SUBORDINATE}:65536\n",
    }
    for name, line in added.items():
        (folder / name).write_text(Path("/etc", name).read_text() + line)
        syscalls.bind(str(folder / name), f"/etc/{name}")
    _open_the_way_to(Path(sys.base_prefix), folder)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "USER": "lab-user"}
    os.execve(command[0], command, environment)


def _open_the_way_to(python: Path, folder: Path) -> None:
    """A Python beneath /root is out of an ordinary user's reach: show it there, and nothing else."""
    if not python.is_relative_to("/root"):
        return
    aside = folder / "python"
    aside.mkdir()
    syscalls.bind(str(python), str(aside))
    syscalls.mount("way", "/root", "tmpfs", 0, "mode=755")
    python.mkdir(parents=True)
    syscalls.bind(str(aside), str(python))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
