"""The tables of `watch` -> the part of docs/log.md that is written from them: `python -m roles.watch.page`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from roles.watch.failures import FAILURES
from roles.watch.noise import NOISE
from roles.watch.releases import RELEASES
from roles.watch.spellings import SPELLINGS

PAGE = Path(__file__).parents[2] / "docs" / "log.md"
MARK = "<!-- from here on written by `python -m roles.watch.page` -->"
WEIGHTS = {
    "cause": "the thing itself",
    "hint": "explains, when nothing better does",
    "echo": "a consequence: look at the other ranks",
    "wrapper": "a frame around a failure, never the cause",
}


def tables() -> str:
    """The generated part, mark included."""
    return "\n".join([MARK, "", *_spellings(), *_failures(), *_noise()]) + "\n"


def _spellings() -> Iterator[str]:
    yield from (
        "## Milestones and how the releases spell them",
        "",
        "| means | spelled | by | releases |",
        "|--|--|--|--|",
    )
    for row in SPELLINGS:
        yield f"| {row.kind.value} | {_code(row.regex)} | {row.who} | {_range(row.since, row.until)} |"
    yield ""


def _failures() -> Iterator[str]:
    yield from ("## Failures", "", "| id | worth | what it means | what to do | seen |", "|--|--|--|--|--|")
    for row in FAILURES:
        yield f"| {row.id} | {row.weight} | {_cell(row.cause)} | {_cell(row.do)} | {row.seen} |"
    yield ""
    yield from (f"- **{weight}**: {meaning}" for weight, meaning in WEIGHTS.items())
    yield ""


def _noise() -> Iterator[str]:
    yield from (
        "## Noise",
        "",
        "Lines that frighten and mean nothing. They are counted and never shown as warnings.",
        "",
    )
    yield from (f"- {name}: {_code(regex)}" for name, regex in NOISE)


def _range(since: str, until: str) -> str:
    if (since, until) == (RELEASES[0], RELEASES[-1]):
        return "all"
    if until == RELEASES[-1]:
        return f"since {since}"
    return f"until {until}" if since == RELEASES[0] else f"{since} to {until}"


def _code(regex: str) -> str:
    return f"`{_cell(regex)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the page anew, its hand-written part kept."""
    written = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(written + tables(), encoding="utf-8")
    print(f"{PAGE} written", file=sys.stderr)


if __name__ == "__main__":
    main()
