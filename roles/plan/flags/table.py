"""table.json -> the options of a release. A release that is not in the table is seen through its neighbours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("table.json")


@dataclass(frozen=True)
class Option:
    """One option of SGLang's parser. `takes`: none, one, maybe (one), some (at least one) or many values."""

    flags: tuple[str, ...]
    dest: str
    takes: str = "one"
    choices: tuple[str, ...] = ()
    type: str = ""  # int or float, where the parser converts
    deprecated: str | None = None  # what its help steers to, "" when to nothing; None: not deprecated

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Option:
        """A row of the table, or an option as a host's own parser told it."""
        return cls(
            flags=tuple(row["flags"]),
            dest=row["dest"],
            takes=row["takes"],
            choices=tuple(row.get("choices") or ()),
            type=row.get("type") or "",
            deprecated=row.get("deprecated"),
        )


Options = Mapping[str, Option]  # by each of its spellings


def by_flag(options: Iterable[Option]) -> Options:
    """Options by their spellings."""
    return {flag: option for option in options for flag in option.flags}


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def known_releases() -> tuple[str, ...]:
    """The releases of the table, oldest first."""
    return tuple(_table()["releases"])


@lru_cache(maxsize=64)
def options_of(release: str) -> Options:
    """The options of a release of the table."""
    order = {name: number for number, name in enumerate(known_releases())}
    rows = (
        row
        for row in _table()["options"]
        if any(order[first] <= order[release] <= order[last] for first, last in row["in"])
    )
    return by_flag(map(Option.read, rows))


def neighbours(version: str) -> tuple[str, ...]:
    """The releases of the table that a version lies between: itself when it is one, one of them at the table's ends."""
    releases = known_releases()
    if version in releases:
        return (version,)
    below = [release for release in releases if in_order(release) <= in_order(version)]
    above = [release for release in releases if in_order(release) > in_order(version)]
    return (*below[-1:], *above[:1])


def in_order(release: str) -> tuple[int, ...]:
    """A key to sort releases by: 0.5.10.post1 comes after 0.5.9. Words (rc, dev, a commit) do not count."""
    numbers = re.findall(r"\d+", release.partition("+")[0])
    return tuple(int(number) for number in numbers)
