"""Where words go: results on stdout, progress on stderr; colour only on a terminal that wants it (NO_COLOR)."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.theme import Theme

THEME = Theme(
    {"good": "green", "bad": "bold red", "warn": "yellow", "dim": "bright_black", "host": "cyan", "key": "bold"}
)

PLAIN_WIDTH = 200  # columns when nobody looks: lines in files are not broken
SHADES = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta", "bright_green")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Nobody reads any more: the command is told, where rich would end it with 1."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console for stdout or stderr. Off a terminal nothing is wrapped or coloured."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PLAIN_WIDTH
    return _Console(file=stream, theme=THEME, highlight=False, width=width, soft_wrap=not stream.isatty())


def hanging(out: Console, head: Text, body: str, style: str = "") -> None:
    """A line; on a terminal a long body goes on below itself. In a file it stays one line."""
    room = max(30, out.width - head.cell_len - 1)
    lines = [body]
    if out.is_terminal:  # each of several hosts has a line of its own
        lines = [part for line in body.splitlines() for part in textwrap.wrap(line, room, break_on_hyphens=False)]
    for number, line in enumerate(lines or [""]):
        out.print((Text(" " * head.cell_len) if number else head) + Text(line, style=style))


def interactive() -> bool:
    """Whether a person sits at both ends: may be asked a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, indent=1, ensure_ascii=False, default=str))


def ago(seconds: float) -> str:
    """A duration in the two units that matter: `42 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = max(0, round(seconds))
    for unit, size, small, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def shade(index: int) -> str:
    """A colour for the index-th host or rank."""
    return SHADES[index % len(SHADES)]


def choose(question: str, choices: Any) -> str | None:
    """Ask which of several; None when nobody sits there to answer, or the answer is empty."""
    if not interactive():
        return None
    out = console(stderr=True)
    for number, choice in enumerate(choices, 1):
        out.print(f"  {number}  {choice}")
    answer = input(f"{question} [1-{len(choices)}] ").strip()
    if answer in choices:
        return answer
    return choices[int(answer) - 1] if answer.isdigit() and 1 <= int(answer) <= len(choices) else None
