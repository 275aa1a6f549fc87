"""Samples -> a table and docs/performance.md. What the numbers say goes in, also where we lose."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

Samples = Mapping[int, Mapping[str, Sequence[tuple[float, float]]]]  # hosts -> tool -> (wall s, CPU s) per round

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


MEASURES = ("raw ssh", "raw ssh, curve25519")  # what the others are held against, round by round


def table(results: Samples) -> str:
    """A row a tool: median wall seconds (min, max), CPU seconds here, and its times as long as each measure."""
    lines = []
    for number, tools in results.items():
        lines += [f"**{number} host{'s' * (number > 1)}**", ""]
        lines += [f"| tool | wall s, median (min, max) | CPU s here | {' | '.join(f'× {name}' for name in MEASURES)} |"]
        lines += ["|---" * (3 + len(MEASURES)) + "|"]
        for name, samples in tools.items():
            if samples:
                walls = [wall for wall, _ in samples]
                spread = f"{statistics.median(walls):.3f} ({min(walls):.3f}, {max(walls):.3f})"
                cpu = statistics.median(cpu for _, cpu in samples)
                ratios = " | ".join(ratio(walls, tools.get(measure, ())) for measure in MEASURES)
                lines.append(f"| {name} | {spread} | {cpu:.2f} | {ratios} |")
        lines.append("")
    return "\n".join(lines)


def ratio(walls: Sequence[float], base: Sequence[tuple[float, float]]) -> str:
    """The median of the rounds' own ratios: a slow minute of the machine falls on both."""
    pairs = list(zip(walls, (wall for wall, _ in base), strict=False))
    return f"{statistics.median(ours / theirs for ours, theirs in pairs):.2f}" if pairs else ""


def write(path: Path, results: Samples, machine: Mapping[str, str]) -> None:
    """Put the tables between the page's marks; the words around them are people's."""
    text = path.read_text() if path.exists() else f"# Performance\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    where = ", ".join(f"{name} {value}" for name, value in machine.items())
    path.write_text(f"{before}{BEGIN}\n\nMeasured on: {where}.\n\n{table(results)}\n{END}{after}")
