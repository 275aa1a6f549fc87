"""Several deployments at once -> a row each, or a line for each change; and the summary of all."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from roles.view.board import stage_words
from roles.view.console import ago, console
from roles.watch import Board, Change, RankState, Stage

ROWS = 40  # replicas beyond this are folded: those that are done go first
STYLES = {"up": "good", "unchanged": "good", "stopped": "good", "not reached": "dim"}


@dataclass
class Row:
    """One replica on the screen."""

    words: str = "waits for its turn"
    style: str = "dim"
    since: float = 0.0  # epoch seconds; 0: not begun
    ranks: str = ""
    done: bool = False

    def say(self, words: str, style: str, ranks: str = "", *, done: bool = False) -> bool:
        """What it is at now; whether that is news."""
        news = words != self.words
        self.words, self.style, self.ranks, self.done = words, style, ranks or self.ranks, done
        self.since = self.since or time.time()
        return news


class Rows:
    """The rows of a roll-out; the observers of its deploys write into them, each from a thread of its own."""

    def __init__(self, names: Sequence[str]) -> None:
        self.rows = {name: Row() for name in names}
        self._console: Console = console(stderr=True)
        self._lock = threading.Lock()
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None
        self._drawn = 0.0

    def __enter__(self) -> Rows:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.update(self.table(time.time()), refresh=True)
            self._live.stop()

    def of(self, name: str) -> Observed:
        """The observer of one deploy."""
        return Observed(self, name)

    def say(self, name: str, words: str, style: str = "warn", ranks: str = "", *, done: bool = False) -> None:
        """Change a row and show it."""
        with self._lock:
            news = self.rows[name].say(words, style, ranks, done=done)
            if self._live is None:
                if news:
                    self._console.print(Text(f"{name}  {ranks + '  ' if ranks else ''}{words}"))
            elif news or time.time() - self._drawn > 0.25:
                self._drawn = time.time()
                self._live.update(self.table(self._drawn), refresh=True)

    def table(self, now: float) -> Table:
        """All rows; of many, those that are not done."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("deployment", "ranks", "stage", "for"):
            table.add_column(name, no_wrap=name != "stage")
        rows = list(self.rows.items())
        shown = rows if len(rows) <= ROWS else [row for row in rows if not row[1].done and row[1].since][:ROWS]
        for name, row in shown:
            since = ago(now - row.since) if row.since and not row.done else ""
            table.add_row(name, row.ranks, Text(row.words, style=row.style), since)
        if len(shown) < len(rows):
            ended = sum(row.done for _, row in rows)
            table.add_row(f"{len(rows) - len(shown)} more", "", f"{ended} of {len(rows)} are done", "", style="dim")
        return table


class Observed:
    """One deploy of several: its steps and the stage of its slowest rank become its row."""

    def __init__(self, rows: Rows, name: str) -> None:
        self._rows, self._name = rows, name

    def step(self, text: str) -> None:
        """One line about what is being done."""
        self._rows.say(self._name, text)

    def board(self, state: Board, changes: Sequence[Change], now: float) -> None:
        """The stage of the rank that is furthest behind."""
        ranks = list(state.ranks.values())
        ready = sum(rank.stage is Stage.READY for rank in ranks)
        words, style = _stage(state, ranks)
        self._rows.say(self._name, words, style, f"{ready}/{len(ranks)}")


def _stage(state: Board, ranks: Sequence[RankState]) -> tuple[str, str]:
    if lost := [node.host for node in state.nodes.values() if not node.connected]:
        return f"connection to {', '.join(lost)} lost; the server goes on by itself", "bad"
    order = list(Stage)
    slowest = min(ranks, key=lambda rank: order.index(rank.stage))
    if dead := [rank for rank in ranks if rank.stage is Stage.DEAD]:
        return f"{dead[0].label}: {stage_words(dead[0])}", "bad"
    if slowest.stage is not Stage.READY:
        return f"{slowest.label}: {stage_words(slowest)}", "warn"
    if state.health is None or state.health.status != 200:
        return "all ranks ready; waits for /health", "warn"
    return "all ranks ready; waits for a generation", "warn"


def summary(out: Console, rows: Sequence[Mapping[str, Any]], verb: str) -> None:
    """The table at the end: every host reports. `rows`: host, deployment, outcome, seconds, sentence."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("host", "result", "seconds", "why"):
        table.add_column(name, no_wrap=name != "why", justify="right" if name == "seconds" else "left")
    for row in rows:
        style = STYLES.get(row["outcome"], "bad")
        table.add_row(
            row["host"], Text(row["outcome"], style=style), f"{row['seconds']:.1f}", Text(str(row["sentence"]))
        )
    out.print(table)
    good = sum(row["ok"] for row in rows)
    out.print(Text(f"{good} of {len(rows)} {verb}", style="good" if good == len(rows) else "bad"))
