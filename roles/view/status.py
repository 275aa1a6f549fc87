"""Runs with their state -> a table, or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from roles.view.console import ago

WORDS = {"up": "good", "loading": "warn", "stopped": "dim"}


@dataclass(frozen=True)
class Row:
    """One deployment as `inv status` shows it. `since`: epoch seconds; `memory`: GPU MiB used and there, per host."""

    deployment: str
    run: str
    profile: str
    hosts: Sequence[str]
    state: str
    sentence: str
    since: float
    ranks: int
    living: int
    missing: Sequence[str]
    port: int | None
    health: int | None
    memory: Mapping[str, str]
    who: str
    url: str | None = None  # where other hosts reach it
    workers: Sequence[Mapping[str, Any]] | None = None  # of a router: what it serves

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in vars(self).items()}


def tree(rows: Sequence[Row]) -> list[tuple[Row, str]]:
    """The rows in the order of the screen, each with what is drawn before its name: replicas beneath their router."""
    found: list[tuple[Row, str]] = []
    below = {worker["url"] for row in rows for worker in row.workers or ()}
    for row in rows:
        if row.workers is not None:
            served = {worker["url"] for worker in row.workers}
            mine = sorted((other for other in rows if other.url in served), key=lambda other: other.deployment)
            found += [(row, ""), *((other, "└ " if other is mine[-1] else "├ ") for other in mine)]
        elif row.url not in below:
            found.append((row, ""))
    return found


def render(out: Console, rows: Sequence[Row], silent: Mapping[str, str], looked_at: Sequence[str], now: float) -> None:
    """The table on `out`; hosts that did not answer are named below it."""
    if rows:
        table = Table(box=None, pad_edge=False, header_style="dim")
        memory = ["memory"] if any(row.memory for row in rows) else []
        names = ("deployment", "state", "since", "ranks", "port", "health", *memory)
        for name in names:
            table.add_column(name, no_wrap=name in ("state", "since", "ranks"))
        for row, stem in tree(rows):
            cells = (
                stem + row.deployment,
                Text(row.state, style=WORDS.get(row.state, "bad")),
                ago(now - row.since),
                f"{row.living}/{row.ranks}",
                str(row.port or ""),
                str(row.health or ""),
                ", ".join(f"{host} {used}" for host, used in row.memory.items()),
            )
            table.add_row(*cells[: len(names)])
        out.print(table)
        for row in rows:
            out.print(f"[dim]{row.deployment}:[/] {escape(row.sentence)} [dim](run {row.run}, by {escape(row.who)})[/]")
    elif answered := [name for name in looked_at if name not in silent]:
        out.print(f"nothing of ours runs on {', '.join(answered)}")
    for name, why in silent.items():
        out.print(f"[bad]{name}: no answer:[/] [dim]{escape(why.removeprefix(f'{name}: '))}[/]")
