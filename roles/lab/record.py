"""What `up` made, written down as it is made, so that `down` ends exactly that."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roles.lab.process import Process

KINDS = ("namespace", "user-namespace", "loopback", "lxc")


@dataclass(frozen=True)
class Record:
    """One lab. `octet` is its network's second octet (0: none), `port` sshd's, `holder` keeps a user namespace."""

    kind: str
    hosts: tuple[int, ...]
    port: int
    boot: str
    opt: str
    octet: int = 0
    holder: Process | None = None
    inotify: int = 0  # fs.inotify.max_user_instances before the lab raised it; 0: not raised

    def save(self, path: Path) -> None:
        write(path, json.dumps(asdict(self), indent=1) + "\n")

    @staticmethod
    def load(path: Path) -> Record | None:
        try:
            fields: dict[str, Any] = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        holder = fields.pop("holder")
        fields["hosts"] = tuple(fields["hosts"])
        return Record(**fields, holder=Process(**holder) if holder else None)


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace the file at `path` in one step."""
    new = path.with_name(path.name + ".new")
    new.touch(mode=mode)
    new.chmod(mode)
    new.write_text(text)
    new.replace(path)
