"""Hosts made of namespaces: own network, processes, mounts, names; this machine's kernel and system."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roles.inventory.errors import AllranksError
from roles.lab import userns
from roles.lab.commands import need
from roles.lab.folder import PROGRAMS
from roles.lab.host import LabHost
from roles.lab.keys import sshd_config, write_config
from roles.lab.network import PREFIX, Network
from roles.lab.process import wait_until
from roles.lab.pythons import shown

INSIDE = "/run/allranks-lab"  # where a host finds its sshd's files


class NamespaceHost(LabHost):
    """A host of kind namespace (root) or user-namespace (anyone)."""

    @property
    def network(self) -> Network:
        return Network(self.record.octet, self.folder.bridge, userns.enter(self.record))

    @property
    def address(self) -> str:
        return self.network.address(self.number)

    @property
    def link(self) -> str:
        return self.folder.link(self.number)

    @property
    def proxy(self) -> tuple[str, ...]:  # type: ignore[override]
        return userns.proxy(self.folder, self.record, self.address, self.port)

    def boot(self) -> None:
        self.boot_all([self])

    @classmethod
    def boot_all(cls, hosts: Sequence[LabHost]) -> None:
        boot([host for host in hosts if isinstance(host, NamespaceHost)])

    def crash(self) -> None:
        super().crash()
        self.network.quietly("link", "del", self.link)  # the kernel takes it away too, but a moment later

    def _link(self, state: str) -> None:
        self.network.ip("link", "set", self.link, state)

    def inside(self) -> tuple[str, ...]:
        into_user = ("-U",) if self.record.holder else ()
        return (*super().inside(), *into_user)

    def sshd_stop(self) -> None:
        self.exec(["sh", "-c", "kill $(cat /run/sshd.pid)"])
        wait_until(lambda: not self.answers(0), 5)

    def sshd_start(self) -> None:
        done = self.exec([need("sshd"), "-f", f"{INSIDE}/sshd_config", "-E", "/var/log/sshd.log"])
        if done.returncode:
            raise AllranksError(f"{self.name}: sshd does not start: {done.stderr.strip()}")

    def request(self) -> dict[str, Any]:
        """What its first process is told."""
        layer = None if self.record.holder or not self.folder.layers.exists() else str(self.folder.layers / self.name)
        disk = {
            "name": self.name,
            "address": self.address,
            "home": str(self.home),
            "layer": layer,
            "opt": self.record.opt,
            "shown": shown(Path(self.record.opt)),
        }
        return {"disk": disk, "prefix": PREFIX, "ip": need("ip"), "sshd": need("sshd")}


@dataclass
class _Booting:
    host: NamespaceHost
    init: subprocess.Popen[bytes]

    def answer(self) -> dict[str, Any]:
        assert self.init.stdout
        line = self.init.stdout.readline()
        log = self.host.home / "boot.log"
        said = json.loads(line) if line else {"failed": log.read_text().strip() or "its first process ended"}
        if "failed" in said:
            raise AllranksError(f"{self.host.name} does not boot: {said['failed']}", do=f"see {log}")
        return dict(said)

    def tell(self, line: str) -> None:
        assert self.init.stdin
        self.init.stdin.write(line.encode() + b"\n")
        self.init.stdin.flush()

    def close(self) -> None:
        for pipe in (self.init.stdin, self.init.stdout):
            if pipe:
                pipe.close()
        self.init.wait()


def boot(hosts: Sequence[NamespaceHost]) -> None:
    """Boot all that are not up, at the same time."""
    booting: list[_Booting] = []
    try:
        for host in hosts:
            if not host.alive:
                booting.append(_start(host))
        for one in booting:
            pid = one.answer()["pid"]
            one.host.remember(pid)
        if booting:
            links = [(one.host.link, one.host.number, one.host.process.pid) for one in booting if one.host.process]
            booting[0].host.network.attach(links)
        for one in booting:
            one.tell("the link is there")
        for one in booting:
            one.answer()
    finally:
        for one in booting:
            one.close()


def _start(host: NamespaceHost) -> _Booting:
    host.home.mkdir(parents=True, exist_ok=True)
    config = sshd_config(INSIDE, port=host.port, listen="0.0.0.0", pid_file="/run/sshd.pid")
    write_config(host.home, config, host.folder.key)
    argv = [*userns.enter(host.record), sys.executable, "-S", "-E", "-m", "inside.init"]
    with (host.home / "boot.log").open("wb") as log:
        init = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=PROGRAMS, start_new_session=True
        )
    one = _Booting(host, init)
    one.tell(json.dumps(host.request()))
    return one
