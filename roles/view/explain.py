"""What happened according to the logs -> a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from roles.view.console import hanging
from roles.watch.explain import Explanation
from roles.watch.failures import UNKNOWN
from roles.watch.releases import RELEASES

STYLES = {"up": "good", "stopped": "good", "loading": "warn", "unknown": "warn"}
SHOWN = 4  # last lines of a traceback whose cause is known; of an unknown one all that was kept


def render(out: Console, told: Explanation, files: Sequence[str]) -> None:
    """The verdict, what to do, the log's own words, where each rank came, what is folded away, where the logs are."""
    out.print(Text(told.verdict.sentence, style=STYLES.get(told.kind, "bad")))
    if told.verdict.do:
        hanging(out, Text("  do      "), told.verdict.do)
    lines = told.verdict.evidence
    for number, line in enumerate(lines if told.verdict.id == UNKNOWN.id else lines[-SHOWN:]):
        out.print(Text(f"  {'' if number else 'log':<6}  {line}", style="dim"))
    if folded := _folded(told):
        out.print(Text(f"          {folded}", style="dim"))
    out.print(_ranks(told))
    layout = told.layout
    sizes = ", ".join(f"{name} {size}" for name, size in vars(layout).items() if size > 1) or "one rank"
    hanging(out, Text("  layout  "), f"{sizes}; {_release(told.releases)}")
    for note in told.notes:
        hanging(out, Text("  note    ", style="warn"), note, "warn")
    for file in files:
        out.print(Text(f"  read    {file}"))


def _folded(told: Explanation) -> str:
    """`and 7 lines that are its echoes, 4 lines of noise, 10,233 of serving`."""
    counts = told.counts
    parts = []
    if counts.get("echoes"):
        parts.append(_lines(counts["echoes"], "that are its echoes", "that is its echo"))
    if counts.get("noise"):
        parts.append(_lines(counts["noise"], "of noise"))
    if counts.get("steady"):
        parts.append(_lines(counts["steady"], "of serving"))
    return f"and {', '.join(parts)}" if parts else ""


def _lines(count: int, several: str, one: str = "") -> str:
    return f"{count:,} lines {several}" if count != 1 else f"1 line {one or several}"


def _ranks(told: Explanation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    place = ("node",) if len(told.board.nodes) > 1 else ()
    for name in ("  rank", "stage", "last milestone", *place):
        table.add_column(name, no_wrap=True)
    for rank in told.board.ranks.values():
        style = "bad" if rank.label == told.verdict.rank else ""
        where = (rank.host,) if place else ()
        table.add_row(Text(f"  {rank.label}", style=style), rank.stage.value, rank.milestone or "none", *where)
    return table


def _release(releases: Sequence[str]) -> str:
    if not releases or len(releases) == len(RELEASES):
        return "release not told by its spelling"
    return f"SGLang {releases[0]}" + (f" to {releases[-1]}, by its spelling" if len(releases) > 1 else ", or near it")
