"""Board -> what a terminal shows while a deployment comes up: a row a rank, a line for health, a bar for the shards."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from roles.view.console import ago, console
from roles.watch import Board, Change, NodeState, RankState, Stage

MARKS = {Stage.READY: ("✔", "good"), Stage.DEAD: ("✘", "bad"), Stage.WAITING: ("·", "dim")}
NARROW = 70  # columns below which host and GPU are left out
ROWS = 24  # ranks beyond this are folded: those that are behind stay


def board(state: Board, now: float, width: int) -> RenderableType:
    """The whole board as one renderable. `now`: epoch seconds of this machine."""
    return Group(_ranks(state, now, width), *_below(state, now))


def _ranks(state: Board, now: float, width: int) -> Table:
    ranks = list(state.ranks.values())
    shown = ranks if len(ranks) <= ROWS else [rank for rank in ranks if rank.stage is not Stage.READY][:ROWS]
    place = ["host"] if width >= NARROW else []
    place += ["GPU"] if place and any(rank.gpu is not None for rank in ranks) else []
    names = ("", "rank", *place, "stage", "for", "memory")
    table = Table(box=None, pad_edge=False, header_style="dim", expand=False)
    for name in names:
        table.add_column(name, justify="right" if name in ("for", "memory", "GPU") else "left", no_wrap=True)
    for rank in shown:
        cells = _cells(state, rank, now)
        table.add_row(*(cells[name] for name in names))
    if len(shown) < len(ranks):
        table.add_row("", f"{len(ranks) - len(shown)} more")
    return table


def _cells(state: Board, rank: RankState, now: float) -> dict[str, RenderableType]:
    """A rank's row, by column. One that has said nothing counts from the start, so that the board is never still."""
    mark, style = MARKS.get(rank.stage, ("▸", "warn"))
    since = state.started if rank.since is None else rank.since
    words = stage_words(rank)
    if rank.stage is Stage.WAITING and state.nodes[rank.node].main_alive:
        words += ": SGLang is importing"
    return {
        "": Text(mark, style=style),
        "rank": rank.label,
        "host": Text(rank.host, style="host"),
        "GPU": "" if rank.gpu is None else str(rank.gpu),
        "stage": Text(words, style=style),
        "for": "" if since is None else ago(now - since),
        "memory": "" if rank.memory_mib is None else f"{rank.memory_mib:,} MiB",
    }


def stage_words(rank: RankState) -> str:
    """Where a rank is, in words: its stage, the milestone it printed last, how far its graphs are."""
    if rank.stage is Stage.DEAD:
        return f"dead (was {rank.died_in.value})"
    if rank.state in ("T", "t"):
        return f"stopped by a signal (kill -CONT {rank.pid} wakes it)"
    words = rank.milestone or rank.stage.value
    if rank.progress:
        words += f" {rank.progress[0]}/{rank.progress[1]}"
    return words


def _below(state: Board, now: float) -> list[RenderableType]:
    lines: list[RenderableType] = []
    if state.shards and state.shards[0] < state.shards[1]:
        done, total = state.shards
        bar = Table.grid(padding=(0, 1))
        bar.add_row("shards", ProgressBar(total=total, completed=done, width=30), f"{done}/{total}")
        lines.append(bar)
    lines += [line for node in state.nodes.values() if (line := _node(node, now)) is not None]
    lines.append(health_line(state))
    return lines


def _node(node: NodeState, now: float) -> Text | None:
    if not node.connected:
        since = f" {ago(now - node.lost_at)} ago" if node.lost_at else ""
        return Text(f"{node.host}: connection lost{since}; the server goes on by itself, trying again", style="bad")
    if node.rebooted:
        return Text(f"{node.host}: was restarted", style="bad")
    if node.holder and not node.holder.get("ours"):
        return Text(f"{node.host}: the port is held by pid {node.holder.get('pid')}, not ours", style="bad")
    if node.compiling:
        return Text(f"{node.host}: compiling ({node.compiling})", style="dim")
    return None


def health_line(state: Board) -> Text:
    """The conditions beside the ranks: ready line, port, health, generation."""
    head = state.nodes[0]
    marks = (
        ("ready line", state.ready_at is not None),
        (f"port {state.port}", bool(head.holder and head.holder.get("ours"))),
        (f"health {state.health.status}" if state.health and state.health.status else "health",
         bool(state.health and state.health.status == 200)),
        ("settings", state.settings is not None),
        ("generation", bool(state.generation and state.generation.status == 200 and not state.generation.error)),
    )  # fmt: skip
    text = Text()
    for words, good in marks:
        text.append(f"{'✔' if good else '·'} {words}   ", style="good" if good else "dim")
    return text


class LiveBoard:
    """An observer that redraws the board in place, four times a second."""

    def __init__(self) -> None:
        self._console: Console = console(stderr=True)
        self._live: Live | None = None
        self._drawn = 0.0  # epoch seconds

    def __enter__(self) -> LiveBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def step(self, text: str) -> None:
        """A line of its own above the board."""
        self._console.print(Text(text, style="dim"))

    def board(self, state: Board, changes: Sequence[Change], now: float) -> None:
        """Draw the board anew; the terminal is touched at most four times a second."""
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=False)
            self._live.start()
        self._live.update(board(state, now, self._console.width), refresh=bool(changes) or self._due(now))

    def _due(self, now: float) -> bool:
        due = now - self._drawn >= 0.25
        self._drawn = now if due else self._drawn
        return due

    def finish(self) -> None:
        """Leave the last picture on the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = None


class PlainLines:
    """An observer for files and pipes: one line per change, no colour, on stderr."""

    def __init__(self) -> None:
        self._console = console(stderr=True)

    def __enter__(self) -> PlainLines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def step(self, text: str) -> None:
        """One line."""
        self._console.print(Text(text))

    def board(self, state: Board, changes: Sequence[Change], now: float) -> None:
        """A line for each change: seconds since the start, host, rank, what it reached."""
        for change in changes:
            at = "" if state.started is None else f"{max(0.0, change.time - state.started):7.1f} s  "
            self._console.print(Text(f"{at}{change.host}  {change.label or '-'}  {change.text}"))
