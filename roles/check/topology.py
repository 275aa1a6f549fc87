"""Which ranks share a NUMA node: a tensor-parallel group that crosses them talks over the slow link at every layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roles.check.finding import Finding, Node
from roles.plan.groups import groups
from roles.plan.links import links_of


def look(node: Node) -> Iterator[Finding]:
    """Nothing for a plan without GPUs, or where no NUMA node is known."""
    numa = numa_of(node.facts, {gpu.index: gpu.numa for gpu in node.node.host.gpus})
    seats = [seat for seat in node.plan.ranks if seat.node == node.node.node and seat.gpu is not None]
    if not any(numa.get(seat.gpu) is not None for seat in seats if seat.gpu is not None):
        return
    links = links_of(node.look("cards").get("links") or "")
    together = [
        [node.node.gpus[rank] for rank in group.ranks]
        for group in groups(node.plan, node.node)
        if group.what == "all_reduce"
    ]
    crossing = [gpus for gpus in together if len({numa.get(gpu) for gpu in gpus}) > 1 and not all_linked(gpus, links)]
    if crossing:
        yield _crosses(node, crossing[0], numa)
    else:
        yield node.ok("topology", "no tensor-parallel group crosses NUMA nodes without NVLink")
    yield from _misplaced(node, numa)


def numa_of(facts: Mapping[str, Any], written: Mapping[int, int | None]) -> dict[int, int | None]:
    """GPU -> NUMA node: as the host tells it, else as the inventory has it."""
    details = ((facts.get("look") or {}).get("cards") or {}).get("details") or []
    told = {int(row["index"]): row["numa"] for row in details if row.get("numa") is not None}
    return {**written, **told}


def all_linked(gpus: list[int], links: Mapping[tuple[int, int], str]) -> bool:
    """Whether every pair is joined by NVLink; False where the host does not say."""
    pairs = [(one, other) for one in gpus for other in gpus if one < other]
    return bool(pairs) and all(links.get(pair, "").startswith("NV") for pair in pairs)


def _crosses(node: Node, gpus: list[int], numa: Mapping[int, int | None]) -> Finding:
    where = ", ".join(f"GPU {gpu} on NUMA {numa.get(gpu)}" for gpu in gpus)
    better = within(node, numa)
    what = f"a tensor-parallel group crosses NUMA nodes: {where}"
    return node.warning("topology", what, better or "nothing: no layout of this size stays within one node")


def within(node: Node, numa: Mapping[int, int | None]) -> str:
    """A layout or choice of GPUs whose tensor-parallel groups stay within NUMA nodes, or ''."""
    layout, here = node.plan.profile.layout, len(node.node.gpus)
    sizes: dict[int | None, list[int]] = {}
    for gpu in sorted(numa):
        sizes.setdefault(numa[gpu], []).append(gpu)
    tp = layout.tp // max(1, layout.nnodes // layout.pp)
    roomy = [gpus for gpus in sizes.values() if len(gpus) >= tp]
    if len(roomy) * tp >= here and tp < here:
        return f"the GPUs could be ordered: --set gpus={[gpu for gpus in roomy for gpu in gpus[:tp]][:here]}"
    if here == tp and roomy:
        return f"--set gpus={roomy[0][:tp]} stays within one"
    largest = max(len(gpus) for gpus in sizes.values())
    for smaller in range(min(largest, tp), 0, -1):
        if layout.tp % smaller == 0 and here % smaller == 0 and len(node.plan.nodes) == 1:
            return f"--set tp={smaller} --set pp={layout.pp * layout.tp // smaller} stays within each"
    return ""


def _misplaced(node: Node, numa: Mapping[int, int | None]) -> Iterator[Finding]:
    written = {gpu.index: gpu.numa for gpu in node.node.host.gpus if gpu.numa is not None}
    wrong = [gpu for gpu, place in written.items() if gpu in numa and numa[gpu] != place]
    if wrong:
        what = f"GPU {wrong[0]} is on NUMA node {numa[wrong[0]]}, the inventory says {written[wrong[0]]}"
        yield node.warning("topology", what, "correct `numa` in the inventory")
