"""The story of `inv check --fix`: what was proposed is done, on each host and in the profile, and each says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from roles.check.fixes import Fix
from roles.inventory.edit import put
from roles.inventory.errors import AllranksError
from roles.plan import NodePlan, Plan
from roles.remote import Remote


@dataclass(frozen=True)
class Fixed:
    """What became of one of them; `why`: why it was not done."""

    fix: Fix
    done: bool
    why: str = ""


def carry_out(root: Path, plan: Plan, wanted: Sequence[Fix], *, accept_new: bool) -> Iterator[Fixed]:
    """Do these, one host after the other."""
    for node in plan.nodes:
        if mine := [fix for fix in wanted if fix.host == node.host.name]:
            yield from _on_host(node, mine, accept_new)
    for fix in wanted:
        if fix.kind == "profile":
            yield _in_profile(root, plan, fix)


def _on_host(node: NodePlan, wanted: Sequence[Fix], accept_new: bool) -> Iterator[Fixed]:
    by_target = {(fix.kind, fix.target): fix for fix in wanted}
    request = {
        "workdir": node.host.workdir,
        "environment": dict(node.environment),
        "folders": [fix.target for fix in wanted if fix.kind == "folder"],
        "locks": [fix.target for fix in wanted if fix.kind == "lock"],
    }
    try:
        with Remote(node.host, accept_new=accept_new) as remote:
            for frame in remote.ask("fix", request):
                fix = by_target.pop((frame["what"], frame["path"]))
                yield Fixed(fix, bool(frame["done"]), str(frame["why"] or ""))
    except AllranksError as error:
        yield from (Fixed(fix, False, str(error)) for fix in by_target.values())


def _in_profile(root: Path, plan: Plan, fix: Fix) -> Fixed:
    try:
        put(root, plan.profile.name, fix.target, fix.value)
    except (AllranksError, OSError) as error:
        return Fixed(fix, False, str(error))
    return Fixed(fix, True)
