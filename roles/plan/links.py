"""The text of `nvidia-smi topo -m` -> how each pair of GPUs is linked."""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_GPU = re.compile(r"GPU(\d+)")

# Slowest last, as nvidia-smi's legend has them.
MEANING = {
    "NV": "NVLink",
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "the CPU's PCIe bridge",
    "NODE": "PCIe bridges of one NUMA node",
    "SYS": "between NUMA nodes",
}


def links_of(text: str) -> dict[tuple[int, int], str]:
    """(GPU, GPU) -> NV18, PIX, SYS ...; both orders. Empty for a text of another shape."""
    rows = [_ANSI.sub("", line).split("\t") for line in text.splitlines()]
    head = next((row for row in rows if any(_GPU.fullmatch(cell.strip()) for cell in row[1:])), [])
    columns = {place: int(found[1]) for place, cell in enumerate(head) if (found := _GPU.fullmatch(cell.strip()))}
    links: dict[tuple[int, int], str] = {}
    for row in rows:
        found = _GPU.fullmatch(row[0].strip()) if row else None
        if not found or row is head:
            continue
        for place, other in columns.items():
            if place < len(row) and row[place].strip() not in ("", "X"):
                links[int(found[1]), other] = row[place].strip()
    return links
