"""Hosts that are LXC containers with systemd."""

from __future__ import annotations

from collections.abc import Callable

from roles.inventory.errors import Refused
from roles.lab.folder import Folder
from roles.lab.host import LabHost
from roles.lab.record import Record


class LxcHost(LabHost):
    @property
    def address(self) -> str:
        return ""

    def boot(self) -> None:
        raise Refused("not built yet")

    def _link(self, state: str) -> None: ...

    def sshd_stop(self) -> None: ...

    def sshd_start(self) -> None: ...


def prepare(folder: Folder, record: Record, say: Callable[[str], None]) -> None: ...


def remove(folder: Folder, record: Record) -> None: ...
