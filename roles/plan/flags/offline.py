"""A command line + a release -> issues: unknown, ambiguous, removed, renamed, deprecated, wrong value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from roles.inventory.errors import InputError
from roles.inventory.nearest import did_you_mean
from roles.plan.flags.exclusions import excluded
from roles.plan.flags.history import absent
from roles.plan.flags.table import Options, known_releases, neighbours, options_of
from roles.plan.flags.words import Use, read

if TYPE_CHECKING:
    from roles.plan.plan import Plan


@dataclass(frozen=True)
class Issue:
    """What is wrong with one flag. A refusal ends the server at once; a warning does not."""

    level: Literal["refusal", "warning"]
    flag: str
    found: str
    do: str
    later: bool = False  # the parser takes it: SGLang's own checks do not

    def __str__(self) -> str:
        return f"{self.found}; {self.do}"


def check_plan(plan: Plan, version: str) -> list[Issue]:
    """The flags of a plan against a release. All nodes have the same flags."""
    return check(flags_of(plan.nodes[0].argv), version)


def flags_of(argv: Sequence[str]) -> tuple[str, ...]:
    """The words that SGLang's parser sees: those after `python -m sglang.launch_server`."""
    return tuple(argv[argv.index("-m") + 2 :]) if "-m" in argv else tuple(argv[1:])


def check(argv: Sequence[str], version: str) -> list[Issue]:
    """Hold words against a release. Between two releases of the table only what both refuse is a refusal."""
    near = neighbours(version)
    found = [issues(argv, release, options_of(release)) for release in near]
    if near == (version,):
        return found[0]
    told: dict[tuple[str, str], Issue] = {}
    for release, ones in zip(near, found, strict=True):
        for issue in ones:
            both = len(near) > 1 and all(any(other.flag == issue.flag for other in each) for each in found)
            level: Literal["refusal", "warning"] = issue.level if both else "warning"
            where = issue.found if both else f"{issue.found} (as in {release}; {version} is not in the table)"
            told.setdefault((issue.flag, level), replace(issue, level=level, found=where))
    return [*told.values(), *([_beyond(version, near)] if len(near) == 1 else [])]


def refuse(argv: Sequence[str], version: str, profile: str) -> list[Issue]:
    """The warnings of a node's whole argv. Raises: InputError with every refusal, a line each."""
    found = check(flags_of(argv), version)
    wrong = [issue for issue in found if issue.level == "refusal"]
    if wrong:
        raise InputError("\n".join(f"profile {profile}: {issue}" for issue in wrong))
    return found


def _beyond(version: str, near: Sequence[str]) -> Issue:
    first, last = known_releases()[0], known_releases()[-1]
    what = f"SGLang {version} is outside the table of flags ({first} to {last}); held against {near[0]}"
    return Issue("warning", "", what, f"add it: .venv/bin/python scripts/flags.py {version}")


def issues(argv: Sequence[str], version: str, options: Options) -> list[Issue]:
    """Hold words against exactly these options."""
    uses = [use for use in read(argv, options) if isinstance(use, Use) and use.option]
    asked = {SHORTER.get(use.option.dest, use.option.dest): use.values for use in uses if use.option}
    together = [
        Issue("refusal", one, f"{one} and {other} exclude each other in {version}", "leave one of them out", later=True)
        for one, other in excluded(asked, version)
    ]
    return [issue for use in read(argv, options) for issue in _issues(use, version, options)] + together


# Through 0.5.12 the parser's own name of these was the long one.
SHORTER = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
}


def _issues(use: Use | str, version: str, options: Options) -> Iterator[Issue]:
    if isinstance(use, str):
        yield Issue("refusal", use, f"{use!r} belongs to no flag", "remove it, or write it after its flag")
    elif use.option is None and use.matches:
        yield _ambiguous(use, version, options)
    elif use.option is None:
        yield Issue("refusal", use.word, *absent(use.word, version, options))
    else:
        yield from _value(use, version)
        if use.word not in use.option.flags:
            what = f"{use.word} is short for {use.matches[0]}, as long as no other flag begins like it"
            yield Issue("warning", use.word, what, "write it in full")
        if use.option.deprecated is not None:
            instead = use.option.deprecated
            what = f"{use.word} is deprecated in {version}"
            do = f"{instead} takes its place" if instead else "it has no effect any more, or will go"
            yield Issue("warning", use.word, what, do)


def _ambiguous(use: Use, version: str, options: Options) -> Issue:
    """Ambiguous now; a flag that it exactly was in an older release is named with its successor."""
    what = f"{use.word} is ambiguous in {version}: it could mean {', '.join(use.matches)}"
    if any(use.word in options_of(release) for release in known_releases()):
        gone, do = absent(use.word, version, options)
        return Issue("refusal", use.word, f"{gone} (now {what.removeprefix(use.word + ' is ')})", do)
    return Issue("refusal", use.word, what, "write it in full")


def _value(use: Use, version: str) -> Iterator[Issue]:
    option = use.option
    assert option is not None
    if option.takes == "none":
        if use.joined:
            yield Issue(
                "refusal", use.word, f"{use.word} takes no value, found {use.values[0]!r}", "write true, or null"
            )
        return
    if option.takes in ("one", "some") and not use.values:
        yield Issue("refusal", use.word, f"{use.word} needs a value", "give it one, or leave it out")
    for value in use.values:
        if option.choices and value not in option.choices:
            what = f"{use.word} {value}: not a choice of {version}"
            near = did_you_mean(value, option.choices).removeprefix("; ")
            yield Issue("refusal", use.word, what, f"{near + ' ' if near else ''}it takes {', '.join(option.choices)}")
        elif option.type and not _converts(value, option.type):
            yield Issue("refusal", use.word, f"{use.word} {value}: expected {_NAMES[option.type]}", "correct it")


_NAMES = {"int": "a whole number", "float": "a number"}


def _converts(value: str, kind: str) -> bool:
    try:
        return (int if kind == "int" else float)(value) is not None
    except ValueError:
        return False
