"""The command line, as the installed SGLang's own parser takes it; in words, by the table of flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roles.check.finding import Finding, Node
from roles.plan.flags import Issue, Option, check, known_releases
from roles.plan.flags.offline import flags_of, issues
from roles.plan.flags.table import by_flag


def look(node: Node) -> Iterator[Finding]:
    """What the parser on the host said, and what the table knows about it."""
    version = (node.facts.get("venv") or {}).get("sglang")
    answer = node.look("flags")
    if not version or not answer:
        return
    known = _issues(node, str(version), answer)
    yield from (Finding(issue.level, "flags", node.name, issue.found, issue.do) for issue in known)
    refused = any(issue.level == "refusal" for issue in known)
    if answer.get("failed"):
        what = f"SGLang's parser could not be asked: {answer['failed']}"
        yield node.warning("flags", what, f"see whether it starts: {node.node.argv[0]} -m sglang.launch_server --help")
    elif answer.get("error") and not refused:
        yield node.refusal(
            "flags", f"SGLang {version} does not take the flags: {answer['error']}", "correct the profile"
        )
    elif not refused:
        yield node.ok("flags", f"SGLang {version}'s own parser takes them")


def _issues(node: Node, version: str, answer: Mapping[str, Any]) -> list[Issue]:
    """By the table, else by the options the parser told; whether anything is refused is the parser's word."""
    argv = flags_of(node.node.argv)
    if version in known_releases():
        found = check(argv, version)
    elif answer.get("options"):
        found = issues(argv, version, by_flag(map(Option.read, answer["options"])))
    else:
        return []
    taken = not answer.get("failed") and answer.get("error") is None
    return [issue for issue in found if issue.level == "warning" or issue.later or not taken]
