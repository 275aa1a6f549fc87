"""Records and lessons of the ledger -> lines on the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from roles.ledger import Lesson, Record
from roles.view.console import ago, hanging

WORDS = {"up": "good", "stopped": "dim", "loading": "warn", "detached": "warn"}
NOTHING = {
    True: "no run was made from here yet",
    False: "no run of that kind was made from here (inv history --last 0 lists all)",
}
HEAD = ("RESULT", "WHEN", "DEPLOYMENT", "UP AFTER", "RUN")
BAR = 24  # columns of the longest stage


def history(out: Console, records: Sequence[Record], now: float, *, of_all: bool = True) -> None:
    """A line a run: when, what, how it went, how long it took to come up, and by what it ended.

    `of_all`: they were not chosen from among others.
    """
    if not records:
        out.print(f"[dim]{NOTHING[of_all]}[/]")
        return
    rows = [_row(record, now) for record in records]
    widths = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
    told = [_told(record) for record in records]
    if not out.is_terminal:  # a line a run, however long: a program may read it
        for row, sentence in zip((HEAD, *rows), ("WHAT HAPPENED", *told), strict=True):
            print("  ".join((*_aligned(row, widths), sentence)).rstrip(), file=out.file)
        return
    if sum(widths) + 2 * len(widths) > out.width:  # the run's id begins the line below
        told = [f"{row[-1]}  {sentence}".rstrip() for row, sentence in zip(rows, told, strict=True)]
        widths.pop()
    out.print(Text("  ".join(_aligned(HEAD, widths)).rstrip(), style="dim"))
    for row, sentence in zip(rows, told, strict=True):
        cells = _aligned(row, widths)
        out.print(Text("  ").join([Text(cells[0], style=WORDS.get(row[0], "bad")), *map(Text, cells[1:])]))
        if sentence:
            out.print(Padding(Text(sentence, style="dim"), (0, 0, 0, 4)))


def _row(record: Record, now: float) -> tuple[str, ...]:
    took = "" if record.up_after is None else ago(record.up_after)
    return (record.result, f"{ago(now - record.started)} ago", record.deployment, took, record.run)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]


def _told(record: Record) -> str:
    """The sentence, where the result does not say it all already; and what was set for this time."""
    told = "" if record.sentence == record.result else _first(record.sentence)
    return "; ".join(filter(None, (told, *(f"--set {text}" for text in record.overrides))))


def report(out: Console, lessons: Sequence[Lesson], *, of_all: bool = True) -> None:
    """A deployment after the other: how often it came up, how long that took and where, what it failed by."""
    if not lessons:
        out.print(f"[dim]{NOTHING[of_all]}[/]")
    for lesson in lessons:
        out.print(Text(f"{lesson.deployment}", style="key"), _summary(lesson))
        _bars(out, lesson.stages)
        for cause in lesson.causes:
            hanging(out, Text(f"  {cause.runs} × {cause.id} ", style="bad"), _first(cause.newest.sentence))
            if cause.newest.do:
                hanging(out, Text("      do: "), cause.newest.do)
            out.print(Text(f"      newest: {cause.newest.run}", style="dim"))


def _summary(lesson: Lesson) -> Text:
    told = f"{len(lesson.runs)} run{'s' * (len(lesson.runs) != 1)}, {lesson.came_up} came up"
    if lesson.median is not None:
        low, high = min(lesson.up_after), max(lesson.up_after)
        told += f", after {lesson.median:.1f} s" + (f" (median; {low:.1f} to {high:.1f})" if low != high else "")
    return Text(told)


def one(out: Console, record: Record, folder: Path, files: Iterable[str]) -> None:
    """All that is known of one run."""
    out.print(Text(f"{record.deployment}: {record.result}", style=WORDS.get(record.result, "bad")))
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.started))
    fields = {
        "run": record.run,
        "began": f"{began} by {record.by}",
        "hosts": ", ".join(record.hosts),
        "set": ", ".join(record.overrides),
        "sglang": record.version or "",
        "plan": record.plan_hash,
        "up": "" if record.up_after is None else f"after {record.up_after:.1f} s",
        "ended": _first(record.sentence),
        "where": " on ".join(filter(None, (record.rank, record.host))),
        "cause": record.cause,
        "do": record.do,
        "memory": ", ".join(f"{rank} {mib:,} MiB" for rank, mib in record.memory_mib.items()),
        "files": f"{folder}: {', '.join(files)}",
    }
    for title, text in fields.items():
        if text:
            hanging(out, Text(f"  {title:<8}"), text)
    _bars(out, record.stages)


def _bars(out: Console, stages: Mapping[str, float]) -> None:
    """A bar a stage, the longest as wide as BAR."""
    longest = max(stages.values(), default=0.0)
    for name, seconds in stages.items():
        bar = "━" * round(BAR * seconds / longest) if longest else ""
        out.print(Text(f"  {name:<30}{seconds:>8.1f} s") + Text(f"  {bar}" if bar else "", style="dim"))


def _first(text: str) -> str:
    return text.partition("\n")[0]
