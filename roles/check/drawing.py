"""Facts of a host -> a picture of its GPUs: NUMA nodes, links, and which ranks would sit where. Text only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roles.check.finding import gib
from roles.check.topology import numa_of
from roles.plan.links import MEANING, links_of

Seats = Mapping[int, str]  # GPU -> the label of the rank on it


def draw(host: str, facts: Mapping[str, Any], written: Mapping[int, int | None], seats: Seats) -> Iterator[str]:
    """A host: what it is, its NUMA nodes with their GPUs, how the GPUs are linked."""
    cards = (facts.get("look") or {}).get("cards") or {}
    details = {int(row["index"]): row for row in cards.get("details") or [] if str(row["index"]).isdigit()}
    gpus = {gpu["index"]: gpu for gpu in facts.get("gpus") or []}
    numa = numa_of(facts, written)
    driver = next((row["driver_version"] for row in details.values()), None)
    software = f", driver {driver} (CUDA {cards.get('cuda') or '?'})" if driver else ""
    yield f"{host}: {facts.get('arch')}, virtualization {cards.get('virtualization') or '?'}{software}"
    if facts.get("gpu_error") or not gpus:
        yield f"  no GPUs: {facts.get('gpu_error') or 'nvidia-smi lists none'}"
    for node in _nodes(cards, numa, gpus):
        cores = (cards.get("numa") or {}).get(str(node))
        name = "NUMA node unknown" if node is None else f"NUMA {node}"
        yield f"  {name}" + (f"  cores {cores}" if cores else "")
        for index in sorted(gpu for gpu in gpus if numa.get(gpu) == node):
            yield f"    {_gpu(gpus[index], details.get(index) or {}, seats.get(index, ''))}"
    yield from _links(sorted(gpus), links_of(cards.get("links") or ""), seats)


def _nodes(cards: Mapping[str, Any], numa: Mapping[int, int | None], gpus: Mapping[int, Any]) -> list[int | None]:
    known = {int(name) for name in cards.get("numa") or {}}
    used = {numa.get(gpu) for gpu in gpus}
    return [*sorted(known | {node for node in used if node is not None}), *([None] if None in used else [])]


def _gpu(gpu: Mapping[str, Any], detail: Mapping[str, Any], seat: str) -> str:
    free = (gpu["total_mib"] or 0) - (gpu["used_mib"] or 0)
    bus = f"  {detail['pci_bus_id']}" if detail.get("pci_bus_id") else ""
    can = f"  sm {detail['compute_cap']}" if detail.get("compute_cap") else ""
    rank = f"  <- {seat}" if seat else ""
    return f"GPU{gpu['index']}  {gpu['name']}  {gib(free)} of {gib(gpu['total_mib'] or 0)} free{bus}{can}{rank}"


def _links(gpus: list[int], links: Mapping[tuple[int, int], str], seats: Seats) -> Iterator[str]:
    if len(gpus) < 2:
        return
    if not links:
        yield "  how the GPUs are linked is not told (nvidia-smi topo -m)"
        return
    names = [f"GPU{gpu}" for gpu in gpus]
    width = max(map(len, [*names, *links.values()])) + 2
    yield "  " + " " * width + "".join(name.ljust(width) for name in names).rstrip()
    for gpu, name in zip(gpus, names, strict=True):
        cells = ["-" if gpu == other else links.get((gpu, other), "?") for other in gpus]
        seat = f"  {seats[gpu]}" if seats.get(gpu) else ""
        yield "  " + name.ljust(width) + "".join(cell.ljust(width) for cell in cells).rstrip() + seat
    kinds = dict.fromkeys(key for key in MEANING for link in links.values() if link.startswith(key))
    yield "  " + ", ".join(f"{key}{'n' if key == 'NV' else ''} = {MEANING[key]}" for key in kinds)
