"""The story of `inv check --fix`: what was proposed is done, on each host and in the profile, and each says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from roles.check.fixes import Fix
from roles.inventory.edit import put
from roles.inventory.errors import AllranksError, Unreachable
from roles.plan import NodePlan, Plan
from roles.remote import Remote


@dataclass(frozen=True)
class Fixed:
    """What became of one of them; None: its host was asked and did not say. `why`: why it was not done."""

    fix: Fix
    done: bool | None
    why: str = ""


def carry_out(root: Path, plan: Plan, wanted: Sequence[Fix], *, accept_new: bool) -> Iterator[Fixed]:
    """Do these, one host after the other. At Ctrl-C those that a host was asked and did not tell of still come."""
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
    asked = False
    try:
        with Remote(node.host, accept_new=accept_new) as remote:
            remote.connection()
            asked = True
            for frame in remote.stream("fix", request):
                if frame["f"] == "fixed":
                    fix = by_target.pop((frame["what"], frame["path"]))
                    yield Fixed(fix, bool(frame["done"]), str(frame["why"] or ""))
    except AllranksError as error:
        unheard = asked and isinstance(error, Unreachable)
        yield from (Fixed(fix, None if unheard else False, str(error)) for fix in by_target.values())
    except KeyboardInterrupt:
        if asked:
            yield from (Fixed(fix, None, "asked for, and not heard of until Ctrl-C") for fix in by_target.values())
        raise


def _in_profile(root: Path, plan: Plan, fix: Fix) -> Fixed:
    try:
        put(root, plan.profile.name, fix.target, fix.value)
    except (AllranksError, OSError) as error:
        return Fixed(fix, False, str(error))
    return Fixed(fix, True)
