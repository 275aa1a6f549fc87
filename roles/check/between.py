"""What lies between GPUs, and what the kernel said of them: peer access, IOMMU, XID errors."""

from __future__ import annotations

from collections.abc import Iterator

from roles.check.finding import Finding, Node
from roles.check.topology import all_linked
from roles.plan.groups import groups
from roles.plan.links import links_of

REFUSALS = {
    "CNS": "the chipset does not support it",
    "GNS": "the GPU does not support it",
    "TNS": "the topology does not support it",
    "NS": "not supported",
    "DR": "disabled by regkey",
}
OF_PROGRAMS = (
    13,
    31,
    43,
    45,
    63,
    94,
)  # XIDs of a program's own faults, or of errors that were contained (NVIDIA's list)
LATELY = 7 * 86400.0  # seconds


def look(node: Node) -> Iterator[Finding]:
    """Nothing for a plan without GPUs."""
    if not node.node.gpus:
        return
    yield from _peers(node)
    yield from _xids(node)


def _peers(node: Node) -> Iterator[Finding]:
    """Two GPUs of a group without peer access talk by way of the host's memory."""
    cards = node.look("cards")
    access, links = links_of(cards.get("peers") or ""), links_of(cards.get("links") or "")
    lacking: dict[tuple[int, int], str] = {}
    crossing = False
    for group in groups(node.plan, node.node):
        gpus = [node.node.gpus[rank] for rank in group.ranks]
        crossing = crossing or (len(gpus) > 1 and not all_linked(gpus, links))
        for pair in [(one, other) for one in gpus for other in gpus if one < other]:
            if access.get(pair) in REFUSALS:
                lacking[pair] = access[pair]
    if lacking:
        (one, other), why = next(iter(lacking.items()))
        more = f" (and {len(lacking) - 1} more pairs)" if len(lacking) > 1 else ""
        what = f"GPU {one} and GPU {other}{more} have no access to each other's memory: {REFUSALS[why]} ({why})"
        do = "NCCL goes through the host's memory: inv topo --measure tells how fast (nvidia-smi topo -p2p r)"
        yield node.warning("p2p", what, do)
    elif access and crossing and cards.get("iommu") and cards.get("virtualization") == "none":
        what = "an IOMMU is on and GPUs that work together are joined by PCIe: with ACS, copies go by way of the CPU"
        do = "inv topo --measure; where it is slow or hangs: iommu=pt for the kernel, ACS off in the BIOS"
        yield node.warning("p2p", what, do)
    elif access:
        yield node.ok("p2p", "the GPUs that work together have access to each other's memory")


def _xids(node: Node) -> Iterator[Finding]:
    """Errors of the plan's GPUs in the kernel's log, those of programs left out."""
    kernel = node.look("kernel")
    if not kernel:
        return
    if not kernel.get("readable"):
        yield node.ok("xid", f"XID errors are unknown: the kernel's log may not be read ({kernel.get('why')})")
        return
    buses = _buses(node)
    rows = [
        (int(row["number"]), buses[_bus(str(row["name"]))])
        for row in kernel.get("lines") or []
        if row["kind"] == "xid" and node.now - float(row["t"]) < LATELY and _bus(str(row["name"])) in buses
    ]
    serious = [row for row in rows if row[0] not in OF_PROGRAMS]
    if serious:
        number, gpu = serious[-1]
        what = f"the kernel has said XID {number} of GPU {gpu}" + (
            f", {len(serious)} in all" if len(serious) > 1 else ""
        )
        yield node.warning("xid", what, "look it up in NVIDIA's list of XIDs; reset the GPU or the host (dmesg -T)")
    else:
        yield node.ok("xid", "the kernel's log has no XID error of these GPUs")


def _buses(node: Node) -> dict[str, int]:
    rows = node.look("cards").get("details") or []
    found = {_bus(str(row["pci_bus_id"])): int(row["index"]) for row in rows if str(row["index"]).isdigit()}
    return {bus: gpu for bus, gpu in found.items() if gpu in node.node.gpus}


def _bus(text: str) -> str:
    """`PCI:0000:3b:00`, `00000000:3B:00.0` -> 3b:00."""
    parts = text.lower().removeprefix("pci:").split(".")[0].split(":")
    return ":".join(parts[-2:])
