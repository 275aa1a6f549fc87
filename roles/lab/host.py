"""LabHost: one host of the lab, with the verbs that a test needs to hurt it and heal it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from roles.inventory.errors import AllranksError, Refused
from roles.lab import greeting
from roles.lab.commands import need
from roles.lab.folder import Folder
from roles.lab.inside.init import PATH
from roles.lab.process import Process, in_namespace_of, wait_until
from roles.lab.record import Record, write

SHARED_OPT = "/opt/allranks-lab"


class LabHost(ABC):
    """Host `number` of the lab in `folder`, counted from 1."""

    user = "root"
    opt = SHARED_OPT  # where the host sees the SGLang install
    interface = "eth0"
    proxy: tuple[str, ...] = ()

    def __init__(self, folder: Folder, record: Record, number: int) -> None:
        self.folder, self.record, self.number = folder, record, number
        self.name = f"lab{number}"
        self.home = folder.host(self.name)

    @property
    @abstractmethod
    def address(self) -> str: ...

    @property
    def port(self) -> int:
        return self.record.port

    @property
    def process(self) -> Process | None:
        """The host's first process (its sshd, for a loopback host)."""
        try:
            return Process(**json.loads((self.home / "process.json").read_text()))
        except OSError:  # never booted
            return None

    def remember(self, pid: int) -> None:
        write(self.home / "process.json", json.dumps(asdict(Process.of(pid))))

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.alive

    def pids(self) -> list[int]:
        """Everything that runs in this host, by this machine's pids."""
        process = self.process
        return in_namespace_of(process.pid) if process and process.alive else []

    @abstractmethod
    def boot(self) -> None:
        """Start it on the disk it has; nothing when it is up."""

    @classmethod
    def boot_all(cls, hosts: Sequence[LabHost]) -> None:
        """Boot several; together, where the kind can."""
        for host in hosts:
            host.boot()

    def crash(self) -> None:
        """Every process of it dies at once, as when its power is cut; the disk stays."""
        if self.process and not self.process.end():
            raise AllranksError(f"{self.name}: pid {self.process.pid} is still there 5 s after SIGKILL")

    def cut(self) -> None:
        """Take its network link down."""
        self._link("down")

    def heal(self) -> None:
        """Bring its network link back."""
        self._link("up")

    @abstractmethod
    def _link(self, state: str) -> None: ...

    def freeze(self) -> None:
        """Stop every process of it (SIGSTOP), new ones included."""
        stopped: set[int] = set()
        while new := set(self.pids()) - stopped:
            self._signal(new, signal.SIGSTOP)
            stopped |= new

    def thaw(self) -> None:
        self._signal(self.pids(), signal.SIGCONT)

    def _signal(self, pids: Sequence[int] | set[int], number: int) -> None:
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    @abstractmethod
    def sshd_stop(self) -> None:
        """No new connections; those that exist go on."""

    @abstractmethod
    def sshd_start(self) -> None: ...

    def inside(self) -> tuple[str, ...]:
        """The command prefix that runs a command in this host."""
        process = self.process
        if not process or not process.alive:
            raise Refused(f"{self.name} is not running", do="inv lab.up")
        return (need("nsenter"), "-t", str(process.pid), "-m", "-p", "-u", "-i", "-n")

    def exec(self, argv: Sequence[str], *, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run `argv` as root in this host, without SSH."""
        clean = ("env", "-i", "--chdir=/root", "HOME=/root", "USER=root", f"PATH={PATH}")
        command = [*self.inside(), *clean, *argv]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    def answers(self, seconds: float = 5) -> bool:
        """Whether its sshd greets."""
        return wait_until(self._greets, seconds)

    def _greets(self) -> bool:
        return greeting.through(self.proxy) if self.proxy else greeting.at(self.address, self.port)

    def ssh(self) -> str:
        """The command to type."""
        config = self.folder.ssh_config
        here = Path.cwd()
        return f"ssh -F {config.relative_to(here) if config.is_relative_to(here) else config} {self.name}"
