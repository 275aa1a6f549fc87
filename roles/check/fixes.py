"""Facts + plan -> the harmless things that would mend a finding: folders, stale locks, two keys of the profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from roles.check.finding import Facts, Node
from roles.check.network import around, needed_around
from roles.check.question import folders_of
from roles.check.room import lifted
from roles.plan import Plan


@dataclass(frozen=True)
class Fix:
    """One thing to do. `what` says it; `target` is a path on `host`, or a key of the profile with its new `value`."""

    kind: Literal["folder", "lock", "profile"]
    topic: str
    host: str
    what: str
    target: str
    value: str = ""


def fixes(plan: Plan, facts: Sequence[Facts | None], now: float) -> list[Fix]:
    """Everything that could be done, the hosts in the plan's order, the profile last."""
    pairs = zip(plan.nodes, facts, strict=True)
    nodes = [Node(plan, node, fact, (), now) for node, fact in pairs if fact is not None]
    return [fix for node in nodes for each in (_folders, _locks) for fix in each(node)] + [*_profile(plan, nodes)]


def _folders(node: Node) -> Iterator[Fix]:
    told = node.look("places").get("folders") or {}
    for path, whose in folders_of(node.plan, node.node).items():
        folder = told.get(path) or {}
        if folder.get("exists") is False and folder.get("writable"):
            yield Fix("folder", "folders", node.name, f"make {folder['path']} ({whose})", path)


def _locks(node: Node) -> Iterator[Fix]:
    for lock in node.look("software").get("jit_locks") or []:
        if lock["keep"] is None:
            yield Fix("lock", "locks", node.name, f"remove {lock['path']}", lock["path"])


def _profile(plan: Plan, nodes: Sequence[Node]) -> Iterator[Fix]:
    """What the script must say is the profile's to say: it is seen in `inv show`, and holds on every host."""
    lacking = [node for node in nodes if needed_around(node)]
    if lacking:
        listed = sorted({name for node in lacking for name in (*around(node), *needed_around(node))})
        yield _key(plan, "proxy", "environment.no_proxy", ",".join(listed))
    for name, value in dict(pair for node in nodes for pair in lifted(node)).items():
        yield _key(plan, "limits", f"limits.{name}", str(value))


def _key(plan: Plan, topic: str, key: str, value: str) -> Fix:
    what = f"write {key}: {value} in profile {plan.profile.name}"
    return Fix("profile", topic, "", what, key, value)
