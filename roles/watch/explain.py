"""Log files from anywhere, without their host -> what happened: the same board and verdict, told by the logs alone."""

from __future__ import annotations

import calendar
import heapq
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from roles.inventory.rank import Rank
from roles.watch.board import Board, expect
from roles.watch.line import HEAD, axes_of
from roles.watch.releases import releases_of
from roles.watch.verdict import Verdict
from roles.watch.watcher import Watcher

Kind = Literal["up", "loading", "failed", "lost", "stopped", "unknown"]
_ECHO = re.compile(r"server_args=(?:ServerArgs\(|\{)[^\n]*")
_SIZE = re.compile(r"\b(tp_size|pp_size|dp_size|nnodes|node_rank|port)'?[=:] ?(\d+)")
_SCHEDULERS_HEAD = re.compile(r"^" + HEAD.pattern, re.MULTILINE)


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


@dataclass(frozen=True)
class Explanation:
    """What a set of logs says. `releases`: the SGLang releases that spell their lines as these do."""

    kind: Kind
    verdict: Verdict
    board: Board
    layout: Sizes
    releases: tuple[str, ...]


def explain(logs: Mapping[str, str]) -> Explanation:
    """Name of each node's log -> its text."""
    numbers = {name: _echoed(text) for name, text in logs.items()}
    sizes = _sizes(list(numbers.values()), list(logs.values()))
    nodes = {name: numbers[name].get("node_rank", place) for place, name in enumerate(logs)}
    names = {node: name for name, node in nodes.items()}
    board = expect(
        _seats(sizes, names),
        layout=sizes,
        nnodes=max(sizes.nnodes, 1 + max(nodes.values(), default=0)),
        hosts=[names.get(node, f"node {node}") for node in range(sizes.nnodes)],
        port=next((found["port"] for found in numbers.values() if "port" in found), None),
        http=False,
    )
    watcher, now = Watcher(board), 0.0
    for now, node, text in by_time({nodes[name]: text for name, text in logs.items()}):
        watcher.feed(node, {"f": "log", "t": now, "text": text})
    for name, text in logs.items():
        watcher.feed(nodes[name], {"f": "exit" if _ends_in_a_traceback(text) else "end", "t": now})
    verdict = watcher.verdict(now + 60.0)
    return Explanation(_kind(verdict, logs), verdict, watcher.board, sizes, releases_of(logs.values()))


def by_time(logs: Mapping[int, str]) -> Iterator[tuple[float, int, str]]:
    """(time, node, lines of one second) of several logs in order; a line without a stamp stays with the one before."""
    return heapq.merge(*(_seconds(node, text) for node, text in logs.items()), key=lambda piece: piece[0])


def _seconds(node: int, text: str) -> Iterator[tuple[float, int, str]]:
    begin, at, stamp = 0, 0.0, ""
    for head in _SCHEDULERS_HEAD.finditer(text):
        if head[1] != stamp:
            if stamp:
                yield at, node, text[begin : head.start()]
                begin = head.start()
            stamp = head[1]
            at = max(at, _epoch(stamp))
    yield at, node, text[begin:]


def _epoch(stamp: str) -> float:
    try:
        return float(calendar.timegm(time.strptime(stamp, "%Y-%m-%d %H:%M:%S")))
    except ValueError:
        return 0.0


def _echoed(text: str) -> dict[str, int]:
    echo = _ECHO.search(text)
    return {name: int(value) for name, value in reversed(_SIZE.findall(echo[0]))} if echo else {}


def _sizes(echoes: Sequence[Mapping[str, int]], texts: Sequence[str]) -> Sizes:
    echo = next((echo for echo in echoes if echo), None)
    if echo is not None:
        get = echo.get
        return Sizes(get("tp_size", 1), get("pp_size", 1), get("dp_size", 1), get("nnodes", 1))
    heads = {head[3] for text in texts for head in _SCHEDULERS_HEAD.finditer(text) if head[3]}
    seen: dict[str, int] = {}
    for axis, place in (pair for head in heads for pair in axes_of(head)):
        seen[axis] = max(seen.get(axis, 0), place)
    return Sizes(seen.get("TP", 0) + 1, seen.get("PP", 0) + 1, seen.get("DP", 0) + 1, len(texts) or 1)


def _seats(sizes: Sizes, names: Mapping[int, str]) -> list[LogSeat]:
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


def _ends_in_a_traceback(text: str) -> bool:
    """Whether the last thing in a log is an exception that no log line follows: main did not survive it."""
    last = text.rfind("\nTraceback (most recent call last):")
    return last >= 0 and _SCHEDULERS_HEAD.search(text, last + 1) is None


def _kind(verdict: Verdict, logs: Mapping[str, str]) -> Kind:
    if verdict.id == "stopped":
        return "stopped"
    if verdict.kind in ("failed", "lost", "up"):
        return verdict.kind
    return "loading" if any(HEAD.search(text) for text in logs.values()) else "unknown"
