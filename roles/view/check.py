"""Findings -> a report for people, or a value for JSON. The hosts in the plan's order, what is worst comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from roles.check import Finding
from roles.check.fixes import Fix
from roles.view.console import hanging

MARKS = {"ok": ("ok", "good"), "warning": ("warning", "warn"), "refusal": ("refused", "bad")}
WORST_FIRST = ("refusal", "warning", "ok")


def render(out: Console, name: str, found: Sequence[Finding], seconds: float, *, changed: bool = False) -> None:
    """Every finding; what is needed and what to do on lines of their own. `changed`: something was done before."""
    for host in dict.fromkeys(finding.host for finding in found):
        out.print(Text(host, style="host"))
        mine = [finding for finding in found if finding.host == host]
        for finding in sorted(mine, key=lambda each: WORST_FIRST.index(each.level)):
            mark, style = MARKS[finding.level]
            hanging(out, Text(f"  {mark:<8}  {finding.topic:<10}", style=style), finding.found)
            for title, text in (("needed", finding.needed), ("do", finding.do)):
                if text:
                    hanging(out, Text(f"{'':<22}{title}: "), text)
    out.print(Text(summary(name, found, seconds, changed=changed), style="bad" if _count(found, "refusal") else "good"))


def summary(name: str, found: Sequence[Finding], seconds: float, *, changed: bool = False) -> str:
    """The last line."""
    refusals, warnings = _count(found, "refusal"), _count(found, "warning")
    counts = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in ((refusals, "refusal"), (warnings, "warning")) if n]
    what = "cannot be deployed" if refusals else "can be deployed"
    told = f"{name} {what}: {', '.join(counts) or 'nothing but ok'} ({seconds:.1f} s)"
    return told if changed else f"{told}; nothing was changed"


def _count(found: Sequence[Finding], level: str) -> int:
    return sum(finding.level == level for finding in found)


def proposed(wanted: Sequence[Fix]) -> Text:
    """What --fix would do."""
    if not wanted:
        return Text("nothing to fix", style="dim")
    return Text("--fix would:\n") + Text("\n".join(f"  {_where(fix)}{fix.what}" for fix in wanted))


OUTCOMES = {True: ("done", "good"), False: ("not done", "bad"), None: ("unknown", "warn")}


def fixed(fix: Fix, done: bool | None, why: str) -> Text:
    """What became of one of them; None: that is not known."""
    mark, style = OUTCOMES[done]
    return Text(f"  {mark:<10}", style=style) + Text(f"{_where(fix)}{fix.what}" + (f": {why}" if why else ""))


def _where(fix: Fix) -> str:
    return f"{fix.host}: " if fix.host else ""


def as_object(name: str, found: Sequence[Finding], seconds: float) -> dict[str, Any]:
    """The same as a value."""
    return {
        "deployment": name,
        "deployable": not _count(found, "refusal"),
        "seconds": round(seconds, 3),
        "findings": [
            {"level": f.level, "topic": f.topic, "host": f.host, "found": f.found, "needed": f.needed, "do": f.do}
            for f in found
        ],
    }
