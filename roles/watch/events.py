"""Line -> Event, by the tables of spellings, failures and noise. A line that no row knows is None."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from roles.inventory.rank import Rank
from roles.watch.failures import FAILURES, Failure
from roles.watch.line import Line
from roles.watch.noise import NOISE
from roles.watch.spellings import BARS, SPELLINGS, Kind, Spelling
from roles.watch.tracebacks import EXCEPTION

Number = float | str
_NONE: Mapping[str, Number] = {}
_SEARCHED = 4000  # characters of a line in which a failure is looked for: messages begin with what they are about

# A line without any of these words matches no row of the failures (a test holds the samples of all rows against it).
WORDS = (
    *("rror", "xception", "xit code", "exitcode", "emory", "died", "dead", "igquit", "SIGQUIT", "crashed", "failed"),
    *("terminated", "include_parent=True", "divisible", "greater than", "Repo", "401", "OfflineMode", "NotFound"),
    *("Cannot find", "not a valid", "upported", "mplementation", "does not match", "other ranks", "caught", "peer"),
    *("remote process", "TCPStore", "Broken pipe", "Socket closed", "Interrupt", "Unable to resolve", "Timed out"),
    *("DDRINUSE", "not available", "already in use", "custom_all_reduce", "no kernel image", "ordinal", "driver"),
    *("accelerator", "nvcc", "ninja", "CUDA_HOME", "NaN", "probability", "assert", "is installed", "not installed"),
    *("No module", "timeout", "left on device", "denied", "Read-only", "SIGTERM", "Gracefully", "Shutting down"),
    *("launch.sh",),
)


class Event(NamedTuple):
    """What a line means; `rank` is only what the line says of itself."""

    kind: Kind
    line: Line
    rank: Rank | None
    numbers: Mapping[str, Number] = _NONE
    failure: Failure | None = None


def _by_beginning(rows: tuple[Spelling, ...]) -> dict[str, list[tuple[Kind, re.Pattern[str]]]]:
    """Rows by their first four letters when those are plain; "" holds the others, tried on every line."""
    table: dict[str, list[tuple[Kind, re.Pattern[str]]]] = {"": []}
    for row in rows:
        plain = re.match(r"[A-Za-z_]{4}", row.regex)
        table.setdefault(plain[0] if plain else "", []).append((row.kind, re.compile(row.regex)))
    return table


_SPELLINGS = _by_beginning(SPELLINGS)
_FAILURES = tuple((row, re.compile(row.regex)) for row in FAILURES)
_NOISE = re.compile("|".join(f"(?:{regex})" for _, regex in NOISE))


def classify(line: Line) -> Event | None:
    """The event of one line, or None when nothing is known about it."""
    if line.source == "bar":
        return _bar(line)
    if line.source == "traceback":
        return _traceback(line)
    return _spelled(line) or _noise(line) or _failure(line)


def _spelled(line: Line) -> Event | None:
    for key in (line.text[:4], ""):
        for kind, regex in _SPELLINGS.get(key, ()):
            found = regex.match(line.text)
            if found:
                return Event(kind, line, line.rank, _numbers(found))
    return None


def _bar(line: Line) -> Event | None:
    for kind, regex in BARS:
        found = regex.search(line.text)
        if found:
            return Event(kind, line, line.rank, _numbers(found))
    return None


def _noise(line: Line) -> Event | None:
    return Event(Kind.NOISE, line, line.rank) if _NOISE.search(line.text, 0, _SEARCHED) else None


def _failure(line: Line) -> Event | None:
    text = line.text[:_SEARCHED]
    if any(word in text for word in WORDS):
        for row, regex in _FAILURES:
            found = regex.search(text)
            if found:
                return Event(Kind.FAILURE, line, line.rank, _numbers(found), row)
    return None


def _traceback(line: Line) -> Event:
    """A line of a block. Indented ones are source code, where the text of an error stands without its happening."""
    if not line.text[0].isspace():
        failure = _failure(line)
        if failure:
            return failure
        if EXCEPTION.match(line.text):
            return Event(Kind.EXCEPTION, line, line.rank)
    return Event(Kind.TRACEBACK, line, line.rank)


def _numbers(found: re.Match[str]) -> Mapping[str, Number]:
    groups = found.groupdict()
    return {name: _number(value) for name, value in groups.items() if value is not None} if groups else _NONE


def _number(text: str) -> Number:
    try:
        return float(text)
    except ValueError:
        return text
