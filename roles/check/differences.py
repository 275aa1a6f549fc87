"""A plan and what runs -> field by field: same, filled in, rewritten, different."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from roles.check.alike import alike, masked
from roles.check.echo import MISSING, echoed
from roles.check.resolved import OWN_DECISION
from roles.check.rewrites import REWRITES, reason
from roles.plan import NodePlan, Plan
from roles.plan.flags import known_releases, options_of
from roles.plan.flags.offline import SHORTER, flags_of
from roles.plan.flags.table import Options, neighbours
from roles.plan.flags.words import Use, read
from roles.watch.settings import compare

Outcome = Literal["same", "filled in", "rewritten", "different", "not reported"]


@dataclass(frozen=True)
class Field:
    """One thing that was planned beside what runs. `why`: for a rewritten one."""

    part: Literal["settings", "argv", "environment"]
    name: str
    planned: Any
    running: Any
    outcome: Outcome
    why: str = ""

    def __str__(self) -> str:
        if self.part == "settings":
            why = f" ({self.why})" if self.why else ""
            asked = "not asked for" if self.planned is None else f"asked {self.planned!r}"
            return f"{self.name}: {asked}, the server reports {self.running!r}{why}"
        has = "it was started with" if self.part == "argv" else "it has"
        return f"{self.name}: planned {self.planned!r}, {has} {self.running!r}"


def settings(
    plan: Plan, told: Mapping[str, Any], version: str | None, given: Sequence[str], echo: str = ""
) -> list[Field]:
    """Every flag of the plan, and what follows from its layout, beside the server's effective settings.

    given: the argv that the server really had. Only what it was asked for can it have rewritten. echo: its log, for
    what it does not report.
    """
    flags, had = asked_for(plan.nodes[0].argv, version), asked_for(given, version)
    asked = {**flags, **plan.expected}
    asked.pop("host", None)
    more = {name: value for name in asked if name not in told and (value := echoed(echo, name)) is not MISSING}
    rows = compare(asked, {**more, **told})
    same = {name for name in asked if had.get(name) == flags.get(name)}
    found = [
        _setting(plan, row.name, row.asked, row.effective, row.outcome, told if row.name in same else {})
        for row in rows
    ]
    return [*found, *_switched_on(plan, told, had)]


def _switched_on(plan: Plan, told: Mapping[str, Any], had: Mapping[str, Any]) -> Iterator[Field]:
    """What nobody asked for and SGLang has switched on by itself, where it is known why."""
    for row in REWRITES:
        if row.name not in had and told.get(row.name) is True and row.holds(plan, None, True, told):
            yield Field("settings", row.name, None, True, "rewritten", row.reason)


def _setting(plan: Plan, name: str, asked: Any, found: Any, outcome: str, told: Mapping[str, Any]) -> Field:
    if outcome == "different" and alike(asked, found):
        return Field("settings", name, asked, found, "same")
    if outcome == "different" and told and (why := reason(plan, name, asked, found, told)):
        return Field("settings", name, asked, found, "rewritten", why)
    if outcome == "different" and told and name in OWN_DECISION and name not in plan.expected:
        return Field("settings", name, asked, found, "rewritten", "SGLang decides it by itself where it sees fit")
    return Field("settings", name, asked, found, outcome)  # type: ignore[arg-type]  # the same words


def asked_for(argv: Sequence[str], version: str | None) -> dict[str, Any]:
    """The names of the settings a command line asks for, with their values."""
    options = _options(version)
    asked: dict[str, Any] = {}
    for use in read(flags_of(argv), options):
        if isinstance(use, Use):
            name = use.option.dest if use.option else use.word.removeprefix("--").replace("-", "_")
            name = SHORTER.get(name, name)
            asked[name] = (use.values[0] if len(use.values) == 1 else list(use.values)) if use.values else not _no(use)
    return asked


def _no(use: Use) -> bool:
    """Whether a flag switches off what its other spelling switches on: --no-dllm-fdfo beside --dllm-fdfo."""
    flag = use.matches[0] if len(use.matches) == 1 else use.word
    return use.option is not None and flag.startswith("--no-") and f"--{flag[5:]}" in use.option.flags


def _options(version: str | None) -> Options:
    near = neighbours(version) if version else ()
    return options_of(near[0] if near else known_releases()[-1])


def argv(planned: Sequence[str], running: Sequence[str]) -> Iterator[Field]:
    """Each flag of either command line, with its values."""
    one, other = _by_flag(planned), _by_flag(running)
    for flag in dict.fromkeys([*one, *other]):
        same = one.get(flag) == other.get(flag) or masked(one.get(flag), other.get(flag))
        yield Field("argv", flag, one.get(flag), other.get(flag), "same" if same else "different")


def _by_flag(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    flag = "program"
    for word in words[words.index("-m") + 1 if "-m" in words else 1 :]:  # which Python runs it is no matter
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            found[flag] = value if equals else ""
        else:
            found[flag] = f"{found.get(flag, '')} {word}".strip()
    return found


def _with_venv(node: NodePlan, path: str) -> str:
    """PATH as the launch script makes it: the virtual environment's programs come first."""
    programs, slash, _ = node.argv[0].rpartition("/bin/")
    return (
        f"{programs}/bin:{path}" if slash and f"export VIRTUAL_ENV={shlex.quote(programs)}\n" in node.script else path
    )


def environment(node: NodePlan, running: Mapping[str, str]) -> Iterator[Field]:
    """Each planned variable; secrets only whether they are there."""
    for name, planned in node.environment.items():
        found, value = running.get(name), _with_venv(node, planned) if name == "PATH" else planned
        yield Field("environment", name, value, found, "same" if found == value else "different")
    for name in node.secrets:
        there = "***" if name in running else None
        yield Field("environment", name, "***", there, "same" if there else "different")
