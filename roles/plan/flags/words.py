"""A command line + options -> which option each word means, as argparse reads it. Nothing is judged but the reading.

argparse takes any beginning of a flag that only one flag has; an exact spelling wins; `--flag=value` is one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roles.plan.flags.table import Option, Options

_NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


@dataclass(frozen=True)
class Use:
    """One flag of a command line. `option` is None for a flag that is unknown or could mean several (`matches`)."""

    word: str
    option: Option | None
    matches: tuple[str, ...]
    values: tuple[str, ...]
    joined: bool = False  # written as --flag=value


def read(argv: Sequence[str], options: Options) -> Iterator[Use | str]:
    """The flags in their order, and as plain text each word that no flag takes."""
    place = 0
    while place < len(argv):
        word = argv[place]
        place += 1
        if not is_flag(word, options):
            yield word
            continue
        flag, equals, value = word.partition("=")
        option, matches = meaning(flag, options)
        following = _values(argv, place, options)
        if equals or option is None:
            taken: tuple[str, ...] = (value,) if equals else following if option is None else ()
        else:
            taken = following[: {"none": 0, "one": 1, "maybe": 1}.get(option.takes, len(following))]
        place += 0 if equals else len(taken)
        yield Use(flag, option, matches, taken, bool(equals))


def is_flag(word: str, options: Options) -> bool:
    """Whether argparse takes a word for a flag rather than for a value."""
    if not word.startswith("-") or len(word) == 1:
        return False
    if word in options or word.partition("=")[0] in options:
        return True
    return not _NEGATIVE_NUMBER.fullmatch(word) and " " not in word


def meaning(flag: str, options: Options) -> tuple[Option | None, tuple[str, ...]]:
    """(the option, or None; every flag that the word could be)."""
    if flag in options:
        return options[flag], (flag,)
    matches = tuple(sorted(known for known in options if known.startswith(flag))) if flag.startswith("--") else ()
    return (options[matches[0]] if len(matches) == 1 else None), matches


def _values(argv: Sequence[str], start: int, options: Options) -> tuple[str, ...]:
    end = start
    while end < len(argv) and not is_flag(argv[end], options):
        end += 1
    return tuple(argv[start:end])
