"""One user namespace for the lab of somebody who is not root, and the ways into it."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

from roles.inventory.errors import AllranksError
from roles.lab.commands import need, run
from roles.lab.folder import PROGRAMS, Folder
from roles.lab.process import Process
from roles.lab.record import Record

IDS = 65536  # as many as a system has, so that sshd's own user and the tty group exist inside


def enter(record: Record | None) -> tuple[str, ...]:
    """The command prefix that makes one root of the lab's namespace; nothing for a lab of root's."""
    if not record or not record.holder:
        return ()
    return (need("nsenter"), "-t", str(record.holder.pid), "-U", "-n")


def proxy(folder: Folder, record: Record, address: str, port: int) -> tuple[str, ...]:
    """The ProxyCommand: the client stays outside and need not be root of anything."""
    if not record.holder:
        return ()
    relay = str(PROGRAMS / "inside/relay.py")
    return (sys.executable, "-S", "-E", relay, str(folder.state), address, str(port))


def hold() -> Process:
    """Start the process that keeps the namespaces, with the user's subordinate ids mapped into them."""
    mapping = granted()
    argv = [sys.executable, "-S", "-E", "-m", "inside.holder"]
    with subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PROGRAMS,
        start_new_session=True,
    ) as starting:
        assert starting.stdin and starting.stdout and starting.stderr
        pid = starting.stdout.readline().strip()
        if not pid:
            raise AllranksError(f"user namespaces do not work here: {starting.stderr.read().strip()}")
        for program, (own, first) in mapping.items():  # when one fails, the holder reads an end of file and ends
            rows = ["0", str(own), "1", "1", str(first), str(IDS - 1)]
            run([need(program), pid, *rows], why="user namespace")
        starting.stdin.write("mapped\n")
    return Process.of(int(pid))


def granted() -> dict[str, tuple[int, int]]:
    """Program that maps → (the user's own id, the first subordinate id)."""
    return {"newuidmap": (os.getuid(), _mapping("subuid")), "newgidmap": (os.getgid(), _mapping("subgid"))}


def _mapping(file: str) -> int:
    """The first of the subordinate ids that /etc/subuid or /etc/subgid grants this user."""
    user = pwd.getpwuid(os.getuid()).pw_name
    path = Path("/etc", file)
    lines = path.read_text().splitlines() if path.exists() else []
    for line in lines:
        name, _, rest = line.partition(":")
        first, _, count = rest.partition(":")
        if name in (user, str(os.getuid())) and count.isdigit() and int(count) >= IDS - 1:
            return int(first)
    raise AllranksError(
        f"{path} grants {user} no {IDS - 1} ids",
        do=f"as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}",
    )
