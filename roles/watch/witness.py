"""What one node of a server is found to be: its processes, port, control group, GPUs and log, as `look` tells them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roles.watch.lines import is_steady
from roles.watch.states import DEAD
from roles.watch.weave import HEADS

Told = Mapping[str, Any]


@dataclass(frozen=True)
class Witness:
    """One node: its `witness` frame, the host's `host` frame, and its log as far as it was read."""

    host: str
    told: Told
    about: Told = field(default_factory=dict)
    log: str = ""

    @property
    def node(self) -> int:
        """Its number in the deployment."""
        return int(self.told.get("node") or self.told.get("node_rank") or 0)

    @property
    def rows(self) -> list[Told]:
        """Its processes that live."""
        return [row for row in self.told.get("procs") or () if row.get("state") not in DEAD]

    @property
    def main(self) -> int | None:
        """The pid of its main process, if that lives."""
        pid = self.told.get("main")
        return pid if any(row["pid"] == pid for row in self.rows) else None

    @property
    def holder(self) -> Told | None:
        """Who listens on its HTTP port."""
        return (self.told.get("port") or {}).get("holder")

    @property
    def port(self) -> int | None:
        """That port."""
        return (self.told.get("port") or {}).get("port")

    @property
    def gpus(self) -> list[Told]:
        """The GPUs that are its own, all of the host's when that is not known."""
        wanted = self.told.get("gpus") or ()
        return [gpu for gpu in self.about.get("gpus") or () if not wanted or gpu.get("index") in wanted]

    @property
    def last_stamp(self) -> str:
        """The time of its log's last line, as printed; empty without a log."""
        stamps = HEADS.findall(self.log[-100_000:])
        return stamps[-1][0] if stamps else ""

    @property
    def ends_serving(self) -> bool:
        """Whether the last thing in its log is a batch or an answered request."""
        lines = [line for line in self.log[-20_000:].splitlines() if line.strip()]
        return bool(lines) and is_steady(lines[-1])


def clock(stamp: str) -> str:
    """`14:08:22` of a log's stamp."""
    return re.sub(r"^\S+ ", "", stamp)
