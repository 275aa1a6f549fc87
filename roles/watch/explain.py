"""Log files from anywhere, without their host -> what happened: the same board and verdict, told by the logs alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from roles.watch.board import Board, expect
from roles.watch.layout import Sizes, echoed, seats_of, sizes_of
from roles.watch.line import HEAD
from roles.watch.releases import releases_of
from roles.watch.verdict import Verdict
from roles.watch.watcher import Watcher
from roles.watch.weave import HEADS, by_time, oldest_first

Kind = Literal["up", "loading", "failed", "lost", "stopped", "unknown"]


@dataclass(frozen=True)
class Explanation:
    """What a set of logs says. `releases`: the SGLang releases that spell their lines as these do."""

    kind: Kind
    verdict: Verdict
    board: Board
    layout: Sizes
    releases: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """One object for programs; `cause` is null when there is none."""
        said = self.verdict
        cause = None
        if said.id:
            line = said.evidence[-1] if said.evidence else ""
            what = {"id": said.id, "sentence": said.sentence, "todo": said.do}
            cause = {**what, "rank": said.rank, "host": said.host, "line": line}
        return {
            "verdict": self.kind,
            "sentence": said.sentence,
            "cause": cause,
            "ranks": {state.label: state.stage.value for state in self.board.ranks.values()},
            "version": list(self.releases),
            "layout": {"tp": self.layout.tp, "pp": self.layout.pp, "dp": self.layout.dp, "nnodes": self.layout.nnodes},
        }


def explain(logs: Mapping[str, str]) -> Explanation:
    """Name of each node's log -> its text."""
    logs = {name: oldest_first(text) for name, text in logs.items()}
    numbers = {name: echoed(text) for name, text in logs.items()}
    sizes = sizes_of(list(numbers.values()), list(logs.values()))
    nodes = {name: numbers[name].get("node_rank", place) for place, name in enumerate(logs)}
    names = {node: name for name, node in nodes.items()}
    board = expect(
        seats_of(sizes, names),
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


def _ends_in_a_traceback(text: str) -> bool:
    """Whether the last thing in a log is an exception that no log line follows: main did not survive it."""
    last = text.rfind("\nTraceback (most recent call last):")
    return last >= 0 and HEADS.search(text, last + 1) is None


def _kind(verdict: Verdict, logs: Mapping[str, str]) -> Kind:
    if verdict.id == "stopped":
        return "stopped"
    if verdict.kind in ("failed", "lost", "up"):
        return verdict.kind
    return "loading" if any(HEAD.search(text) for text in logs.values()) else "unknown"
