"""Hosts for anyone: an sshd of your own on 127.0.1.x, with a home per host.

Processes, /tmp and names are this machine's.
"""

from __future__ import annotations

import os
import pwd
import shlex
import signal
import socket
import subprocess
from collections.abc import Sequence

from roles.inventory.errors import AllranksError, Refused
from roles.lab.commands import need
from roles.lab.folder import Folder
from roles.lab.host import LabHost
from roles.lab.keys import sftp_server, sshd_config, write_config
from roles.lab.process import Process, wait_until, with_environment
from roles.lab.record import Record, write
from roles.lab.sessions import holders, with_descendants

MARK = "ALLRANKS_LAB_HOST"  # in the environment of all that is started in such a host: how it is found again
FIRST_PORT = 22022
SHIM = """#!/bin/sh
# Every session of this host begins here: in its own home.
cd "$HOME" || exit 1
case "$SSH_ORIGINAL_COMMAND" in
"") exec "${{SHELL:-/bin/sh}}" -l ;;
{sftp}) exec {sftp} ;;
*) exec "${{SHELL:-/bin/sh}}" -c "$SSH_ORIGINAL_COMMAND" ;;
esac
"""


class LoopbackHost(LabHost):
    """One sshd and whatever was started through it."""

    interface = "lo"

    def __init__(self, folder: Folder, record: Record, number: int) -> None:
        super().__init__(folder, record, number)
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.opt = record.opt

    @property
    def address(self) -> str:
        return address(self.number)

    @property
    def mark(self) -> str:
        return f"{MARK}={self.folder.tag}-{self.name}"

    def boot(self) -> None:
        if self.alive:
            return
        (self.home / "home").mkdir(parents=True, exist_ok=True)
        shim = self.home / "session"
        write(shim, SHIM.format(sftp=sftp_server()), 0o755)
        # one SetEnv line: sshd takes the first and leaves the others
        more = (f"SetEnv HOME={self.home}/home {self.mark}", f"ForceCommand {shlex.quote(str(shim))}")
        pid_file = str(self.home / "sshd.pid")
        config = sshd_config(str(self.home), port=self.port, listen=self.address, pid_file=pid_file, more=more)
        write_config(self.home, config, self.folder.key)
        self.sshd_start()

    def pids(self) -> list[int]:
        own = [self.process.pid] if self.alive and self.process else []
        return sorted(with_descendants([*own, *holders(self.address, self.port), *with_environment(self.mark)]))

    def crash(self) -> None:
        """All it started dies, and every session of it."""
        left = [Process.of(pid) for pid in self.pids()]
        for process in left:
            process.kill()
        if not wait_until(lambda: not any(process.alive for process in left), 5):
            raise AllranksError(f"{self.name}: some of its processes are still there 5 s after SIGKILL")

    def _link(self, state: str) -> None:
        raise Refused(f"{self.name} has no link of its own to take {state}", do="use a lab of kind namespace")

    def sshd_stop(self) -> None:
        if self.process:
            self.process.kill(signal.SIGTERM)
            wait_until(lambda: not self.alive, 5)

    def sshd_start(self) -> None:
        argv = [need("sshd"), "-f", str(self.home / "sshd_config"), "-E", str(self.home / "sshd.log")]
        environment = {"PATH": os.environ.get("PATH", os.defpath), MARK: self.mark.partition("=")[2]}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
        pid_file = self.home / "sshd.pid"
        if done.returncode or not wait_until(lambda: pid_file.exists() and pid_file.read_text() != "", 5):
            log = (self.home / "sshd.log").read_text()[-300:].strip()
            said = done.stderr.strip() or log
            do = "as root: mkdir -p /run/sshd" if "privilege separation directory" in said else ""
            raise AllranksError(f"{self.name}: sshd does not start: {said}", do=do)
        self.remember(int(pid_file.read_text()))

    def exec(self, argv: Sequence[str], *, text: str | None = None) -> subprocess.CompletedProcess[str]:
        home = self.home / "home"
        environment = {**os.environ, "HOME": str(home), MARK: self.mark.partition("=")[2]}
        return subprocess.run(argv, input=text, capture_output=True, text=True, check=False, cwd=home, env=environment)


def address(number: int) -> str:
    return f"127.0.{1 + number // 250}.{number % 250 + 1}"


def free_port(hosts: int) -> int:
    """The first port from 22022 on that is free on every host's address."""
    for port in range(FIRST_PORT, FIRST_PORT + 200):
        if all(_free(address(number), port) for number in range(1, hosts + 1)):
            return port
    raise AllranksError(f"no port from {FIRST_PORT} to {FIRST_PORT + 199} is free on 127.0.1.2 and following")


def _free(host: str, port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError:
            return False
    return True
