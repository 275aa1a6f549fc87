"""Differences -> a table for people. What differs comes first; what is the same is only counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from roles.check.differences import Field
from roles.view.console import hanging

STYLES = {"different": "bad", "rewritten": "warn", "filled in": "warn", "not reported": "dim", "same": "good"}
ORDER = tuple(STYLES)


def render(out: Console, title: str, fields: Sequence[Field], *, every: bool) -> None:
    """One host's fields."""
    out.print(Text(title, style="host"))
    for field in sorted(fields, key=lambda each: ORDER.index(each.outcome)):
        if field.outcome == "same" and not every:
            continue
        planned, running = shown(field.planned), shown(field.running)
        both = planned if planned == running else f"planned {planned}, runs {running}"
        why = f" ({field.why})" if field.why else ""
        head = Text(f"  {field.outcome:<12}  ", style=STYLES[field.outcome]) + Text(f"{field.part:<11}  ")
        hanging(out, head, f"{field.name}: {both}{why}")
    same = sum(field.outcome == "same" for field in fields)
    out.print(Text(f"  {same} of {len(fields)} are the same", style="dim"))


def shown(value: Any) -> str:
    """A value; nothing is a dash, a bare flag says so."""
    return "-" if value is None else "set" if value is True or value == "" else str(value)


def profiles(out: Console, one: str, other: str, rows: Iterable[tuple[str, Any, Any]], *, every: bool) -> int:
    """Two profiles beside each other. Gives how many keys differ."""
    different = 0
    for key, left, right in rows:
        if left == right:
            if every:
                out.print(f"  {key}: {shown(left)}")
            continue
        different += 1
        out.print(Text(f"  {key}: {one} {shown(left)}, {other} {shown(right)}", style="warn"))
    out.print(f"{one} and {other}: {different or 'no'} keys differ")
    return different
