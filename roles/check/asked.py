"""A plan + what its servers were given and report -> whether what runs is what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from roles.check.differences import Field, argv, asked_for, environment, settings
from roles.plan import Plan
from roles.watch import Board, Verdict


def fields(plan: Plan, board: Board, echo: str = "") -> list[tuple[str, Field]]:
    """(host, field) of everything the plan names: settings by node 0, arguments and variables by every node.

    echo: node 0's log as far as the server repeats its arguments in it, for what it does not report.
    """
    head = board.nodes[0].given or {}
    told = settings(plan, board.settings or {}, board.version, head.get("argv") or plan.nodes[0].argv, echo)
    found = [(plan.nodes[0].host.name, field) for field in told]
    for node in plan.nodes:
        given = board.nodes[node.node].given
        if given and given.get("argv"):
            has = {**(given.get("environ") or {}), **dict.fromkeys(given.get("secrets") or (), "***")}
            rows = [*argv(node.argv, given["argv"]), *environment(node, has)]
            found += [(node.host.name, field) for field in rows]
    return found


def as_asked(plan: Plan, board: Board, up: Verdict, echo: str = "") -> Verdict:
    """The verdict on a server that is up: up still, with what SGLang has changed, or different."""
    found = fields(plan, board, echo)
    changed = [str(field) for _, field in found if field.outcome == "rewritten"]
    wrong = list(different(found, plan.profile.allow_different, board.version))
    if not wrong:
        return replace(up, rewritten=changed)
    host = wrong[0][0]
    words = [str(field) if where == host else f"{field} (on {where})" for where, field in wrong]
    sentence = f"it runs on {host}, but not as asked: {'; '.join(words)}"
    do = "see inv diff; if it is meant, name it in the profile's `allow_different`"
    return Verdict("different", sentence, host=host, do=do, differences=words, rewritten=changed)


def different(
    found: Sequence[tuple[str, Field]], allowed: Sequence[str], version: str | None
) -> Iterator[tuple[str, Field]]:
    """What differs and is not allowed to; an argument only where its setting has not said so already."""
    reported = {field.name for _, field in found if field.part == "settings" and field.outcome == "different"}
    for host, field in found:
        if field.outcome == "different":
            setting = setting_of(field.name, version) if field.part == "argv" else field.name
            if setting not in allowed and not (field.part == "argv" and setting in reported):
                yield host, field


def expected(plan: Plan) -> Mapping[str, object]:
    """The settings that decide about being up by themselves."""
    return {name: value for name, value in plan.expected.items() if name not in plan.profile.allow_different}


def setting_of(flag: str, version: str | None) -> str:
    """--max-total-tokens -> max_total_tokens; --no-dllm-fdfo -> dllm_fdfo, which it switches off."""
    return next(iter(asked_for(["python", flag], version)), flag)
