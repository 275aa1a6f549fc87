"""Log files from anywhere, without their host -> what happened: the same board and verdict, told by the logs alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from roles.watch.board import Board, expect
from roles.watch.condense import Condensed, condense
from roles.watch.layout import Sizes, echoed, seats_of, sizes_of
from roles.watch.line import HEAD
from roles.watch.releases import releases_of
from roles.watch.sentences import Verdict
from roles.watch.starts import NodeLog, node_logs
from roles.watch.watcher import Watcher
from roles.watch.weave import HEADS, by_time

Kind = Literal["up", "loading", "failed", "lost", "stopped", "unknown"]

NOT_SGLANG = "nothing here is a line of SGLang's: what happened is unknown"


@dataclass(frozen=True)
class Explanation:
    """What a set of logs says. `releases`: the SGLang releases that spell their lines as these do."""

    kind: Kind
    verdict: Verdict
    board: Board
    layout: Sizes
    releases: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what the reader should know of the files themselves
    counts: Mapping[str, int] = field(default_factory=dict)  # lines: noise, steady, echoes

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
            "notes": list(self.notes),
            "lines": dict(self.counts),
        }


def explain(logs: Mapping[str, str | Condensed]) -> Explanation:
    """Name of each log -> its text, condensed where it may have gigabytes."""
    read = {name: condense([log]) if isinstance(log, str) else log for name, log in logs.items()}
    nodes = node_logs({name: condensed.text for name, condensed in read.items()})
    sizes = sizes_of([echoed(log.text) for log in nodes], [log.text for log in nodes])
    watcher, now = _watched(nodes, sizes)
    verdict, absent = watcher.verdict(now + 60.0), _absent(nodes, sizes)
    if absent and verdict.kind == "loading":
        here = {rank: state for rank, state in watcher.board.ranks.items() if state.node not in absent}
        verdict = Watcher(replace(watcher.board, ranks=here)).verdict(now + 60.0)
    texts = [log.text for log in nodes]
    kind = _kind(verdict, texts)
    if kind == "unknown":
        verdict = Verdict("loading", NOT_SGLANG, do="give the server's own output, from its first line on")
    notes = tuple(_notes(nodes, absent, read))
    counts = _counts(watcher, verdict, sum(condensed.steady for condensed in read.values()))
    return Explanation(kind, verdict, watcher.board, sizes, releases_of(texts), notes, counts)


def _watched(nodes: Sequence[NodeLog], sizes: Sizes) -> tuple[Watcher, float]:
    """The logs, folded in order of time, and the time of their last line."""
    names = {log.node: log.name for log in nodes}
    numbers = [echoed(log.text) for log in nodes]
    board = expect(
        seats_of(sizes, names),
        layout=sizes,
        nnodes=max(sizes.nnodes, 1 + max(names, default=0)),
        hosts=[names.get(node, f"node {node}") for node in range(sizes.nnodes)],
        port=next((found["port"] for found in numbers if "port" in found), None),
        http=False,
    )
    watcher, now = Watcher(board), 0.0
    for now, node, text in by_time({log.node: log.text for log in nodes}):
        watcher.feed(node, {"f": "log", "t": now, "text": text})
    for log in nodes:
        watcher.feed(log.node, {"f": "exit" if _ends_in_a_traceback(log.text) else "end", "t": now})
    return watcher, now


def _absent(nodes: Sequence[NodeLog], sizes: Sizes) -> list[int]:
    given = {log.node for log in nodes}
    return [node for node in range(sizes.nnodes) if node not in given]


def _notes(nodes: Sequence[NodeLog], absent: Sequence[int], read: Mapping[str, Condensed]) -> Iterable[str]:
    for log in nodes:
        if log.starts > 1:
            yield f"{log.name} holds {log.starts} starts: this is the last one"
    if absent:
        which = ", ".join(map(str, absent))
        yield f"no log of node {which} is given: what happened there is told only as far as the others notice it"
    for name, condensed in read.items():
        if condensed.cut:
            yield f"{name}: {condensed.cut} lines of its middle were not read"


def _counts(watcher: Watcher, verdict: Verdict, steady: int) -> dict[str, int]:
    """Lines that are not shown: noise, steady ones, and complaints that only echo the cause."""
    counts: Counter[str] = watcher.counts
    complaints = counts["echo"] + counts["exception"] + counts["cause"]
    echoes = max(0, complaints - (1 if verdict.evidence else 0)) if verdict.id else 0
    return {"noise": counts["noise"], "steady": steady + watcher.steady, "echoes": echoes}


def _ends_in_a_traceback(text: str) -> bool:
    """Whether the last thing in a log is an exception that no log line follows: main did not survive it."""
    last = text.rfind("\nTraceback (most recent call last):")
    return last >= 0 and HEADS.search(text, last + 1) is None


def _kind(verdict: Verdict, texts: Iterable[str]) -> Kind:
    if verdict.id == "stopped":
        return "stopped"
    if verdict.kind in ("failed", "lost", "up"):
        return verdict.kind
    return "loading" if any(HEAD.search(text) for text in texts) else "unknown"
