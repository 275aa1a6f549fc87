"""Every topic asked of every node, then of all nodes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from roles.check import between, flags, gpus, login, model, network, ports, room, software, topology
from roles.check.finding import Facts, Finding, Node
from roles.inventory.errors import Refused
from roles.plan import Plan

TOPICS: tuple[Callable[[Node], Iterator[Finding]], ...] = (
    login.look,
    ports.look,
    software.look,
    flags.look,
    model.look,
    gpus.look,
    topology.look,
    between.look,
    room.look,
    network.look,
)


def findings(plan: Plan, facts: Sequence[Facts | None], *, ours: Sequence[str] = (), now: float) -> list[Finding]:
    """Hold each node's facts against its plan; a host that did not answer has none.

    Args: ours: runs that will be stopped before the start (their ports and memory do not count as taken);
    now: this machine's clock (epoch seconds), read when the facts arrived.
    """
    pairs = zip(plan.nodes, facts, strict=True)
    nodes = [Node(plan, node, fact, ours, now) for node, fact in pairs if fact is not None]
    found = [finding for node in nodes for topic in TOPICS for finding in topic(node)]
    return [*found, *software.alike(nodes), *model.alike(nodes)]


def refuse(found: Sequence[Finding]) -> None:
    """Raise Refused with every refusal, a line each."""
    refusals = [finding for finding in found if finding.level == "refusal"]
    if refusals:
        raise Refused("\n".join(str(finding) for finding in refusals))
