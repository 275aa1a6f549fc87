"""Figures of a measurement -> lines for people: when, with what, copies as a matrix, collectives by size."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Found = Mapping[str, Any]


def lines(found: Found) -> Iterator[str]:
    """All of it, indented beneath its host."""
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(found["t"]))
    about = found.get("about") or {}
    backend = f"NCCL {about.get('nccl')}" if found["device"] == "cuda" else "Gloo on the CPU: says nothing about GPUs"
    of = f" for {found['profile']}" if found.get("profile") else ""
    yield f"measured {when}{of} (torch {about.get('torch')}, {backend})"
    if steering := " ".join(f"{name}={value}" for name, value in (found.get("environment") or {}).items()):
        yield f"  with {steering}"
    yield from _copies(found)
    yield from _groups(found)
    yield from (f"  not measured: {what}" for what in found.get("left_out") or ())
    yield f"  {how(found)}"


def how(found: Found) -> str:
    """What the figures are."""
    counts = ", ".join(f"{n} at {size_of(size)}" for n, size in zip(found["repeats"], found["sizes"], strict=True))
    bus = "bus: bytes on the wire per rank and second"
    if found["device"] != "cuda":
        return f"medians ({counts}) of the slowest rank; {bus}"
    return f"a copy is {size_of(found['copy'])}; so many back to back ({counts}), medians of the slowest rank; {bus}"


def _copies(found: Found) -> Iterator[str]:
    rates = {(row["from"], row["to"]): row["bytes"] / row["seconds"] / 1e9 for row in found.get("copies") or ()}
    if not rates:
        return
    names = [f"GPU{gpu}" for gpu in found["gpus"]]
    width = max(7, *map(len, names)) + 2
    yield "  copies, GB/s".ljust(16) + "".join(f"to {name}".ljust(width + 3) for name in names).rstrip()
    for one, name in enumerate(names):
        cells = [f"{rates[one, other]:.1f}" if (one, other) in rates else "-" for other in range(len(names))]
        yield f"  from {name}".ljust(16) + "".join(cell.ljust(width + 3) for cell in cells).rstrip()
    staged = [(names[row["from"]], names[row["to"]]) for row in found["copies"] if not row["peer"]]
    if staged:
        yield f"  no peer access (copies go through the host's memory): {_pairs(staged)}"


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{one} -> {other}" for one, other in pairs[:8]) + (" …" if len(pairs) > 8 else "")


def _groups(found: Found) -> Iterator[str]:
    names = {"all_reduce": "all-reduce", "p2p": "send"}
    for group in found.get("groups") or ():
        cells = "   ".join(_cell(group, row) for row in group["rows"])
        yield f"  {names[group['what']]:<10}  {group['name']}  {cells}"


def _cell(group: Found, row: Found) -> str:
    """Time at a size; for what is large the rates too."""
    told = f"{size_of(row['bytes'])} {time_of(row['seconds'])}"
    if row["bytes"] < 1 << 20:
        return told
    rate, ranks = row["bytes"] / row["seconds"] / 1e9, len(group["ranks"])
    bus = f", bus {rate * 2 * (ranks - 1) / ranks:.1f}" if group["what"] == "all_reduce" else ""
    return f"{told} ({rate:.1f} GB/s{bus})"


def size_of(size: int) -> str:
    """16 KiB, 64 MiB."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def time_of(seconds: float) -> str:
    """Microseconds, from ten milliseconds on milliseconds."""
    return f"{seconds * 1e6:.0f} µs" if seconds < 0.01 else f"{seconds * 1e3:.1f} ms"
