"""A log alone -> the layout of the server that wrote it: its sizes, its ranks, and on which node each sits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roles.inventory.rank import Rank
from roles.watch.line import axes_of
from roles.watch.weave import HEADS

ECHO = re.compile(r"server_args=(?:ServerArgs\(|\{)[^\n]*")
_SIZE = re.compile(r"\b(tp_size|pp_size|dp_size|nnodes|node_rank|port)'?[=:] ?(\d+)")


@dataclass(frozen=True)
class Sizes:
    """How the model is spread, read out of the echo of the arguments, or else out of the ranks that speak."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    nnodes: int = 1


@dataclass(frozen=True)
class LogSeat:
    """A rank that the log's layout has. Nothing is known of its GPU."""

    rank: Rank
    label: str
    node: int
    host: str
    title: str
    gpu: int | None = None


def echoed(text: str) -> dict[str, int]:
    """The sizes, node rank and port in the echo of the arguments; empty when the log has none."""
    echo = ECHO.search(text)
    return {name: int(value) for name, value in reversed(_SIZE.findall(echo[0]))} if echo else {}


def sizes_of(echoes: Sequence[Mapping[str, int]], texts: Sequence[str]) -> Sizes:
    """The layout of what these logs are of: as echoed, or else as far as the ranks that speak show it."""
    echo = next((echo for echo in echoes if echo), None)
    if echo is not None:
        get = echo.get
        return Sizes(get("tp_size", 1), get("pp_size", 1), get("dp_size", 1), get("nnodes", 1))
    heads = {head[3] for text in texts for head in HEADS.finditer(text) if head[3]}
    seen: dict[str, int] = {}
    for axis, place in (pair for head in heads for pair in axes_of(head)):
        seen[axis] = max(seen.get(axis, 0), place)
    return Sizes(seen.get("TP", 0) + 1, seen.get("PP", 0) + 1, seen.get("DP", 0) + 1, len(texts) or 1)


def seats_of(sizes: Sizes, names: Mapping[int, str]) -> list[LogSeat]:
    """Every rank of a layout on its node; `names` gives the nodes names."""
    per_stage = max(sizes.nnodes // sizes.pp, 1)  # nodes that one pipeline stage is spread over
    seats = []
    for dp in range(sizes.dp):
        for pp in range(sizes.pp):
            for tp in range(sizes.tp):
                first = pp * sizes.nnodes // sizes.pp if sizes.pp >= sizes.nnodes else pp * per_stage
                node = first + tp * per_stage // sizes.tp
                rank = Rank(pp, tp, dp)
                label = rank.label(sizes)
                axes = label if sizes.tp * sizes.pp * sizes.dp > 1 else ""
                title = "_".join(("sglang::scheduler", *axes.split()))
                seats.append(LogSeat(rank, label, node, names.get(node, f"node {node}"), title))
    return seats
