"""What a check says: one finding a thing that was looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from roles.plan import NodePlan, Plan

Facts = dict[str, Any]
Level = Literal["ok", "warning", "refusal"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at on one host. `needed` and `do` are empty when all is well."""

    level: Level
    topic: str
    host: str
    found: str
    do: str = ""
    needed: str = ""

    def __str__(self) -> str:
        needed = f" ({self.needed} needed)" if self.needed else ""
        return f"{self.host}: {self.found}{needed}" + (f"; {self.do}" if self.do else "")


@dataclass(frozen=True)
class Node:
    """A node's plan beside the facts of its host.

    ours: runs that will be stopped before the start. now: this machine's clock when the facts came (epoch seconds).
    """

    plan: Plan
    node: NodePlan
    facts: Facts
    ours: Sequence[str]
    now: float

    @property
    def name(self) -> str:
        """The host's name."""
        return self.node.host.name

    def correct(self, do: str) -> str:
        """What to do where something is not installed: `do`, but on a lab host, which has it or not as a whole."""
        return "inv lab.up --sglang" if self.node.host.lab else do

    def look(self, part: str) -> Mapping[str, Any]:
        """A part of the closer look; empty where the host was not asked for it."""
        found = (self.facts.get("look") or {}).get(part)
        return found if isinstance(found, Mapping) else {}

    def ok(self, topic: str, found: str) -> Finding:
        """All is well."""
        return Finding("ok", topic, self.name, found)

    def warning(self, topic: str, found: str, do: str, needed: str = "") -> Finding:
        """It may work, or not as well as it could."""
        return Finding("warning", topic, self.name, found, do, needed)

    def refusal(self, topic: str, found: str, do: str, needed: str = "") -> Finding:
        """It cannot work."""
        return Finding("refusal", topic, self.name, found, do, needed)


def gib(mib: float) -> str:
    """MiB as people say it."""
    return f"{mib / 1024:.1f} GiB" if mib >= 1024 else f"{mib:.0f} MiB"


def described(holder: Mapping[str, Any]) -> str:
    """A process that holds something: pid, user and command line, as far as they could be read."""
    user = f" of {holder['user']}" if holder.get("user") else ""
    if holder.get("pid") is None:
        return f"a process{user} that this login may not see"
    return f"pid {holder['pid']}{user}: {holder.get('cmdline') or holder.get('title') or '?'}"
