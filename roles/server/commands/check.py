"""`inv check`: what it prints and ends with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from roles.check.fixes import Fix
from roles.plan import Plan
from roles.server.check import Checked, check
from roles.server.fix import Fixed, carry_out
from roles.view.check import as_object, fixed, proposed, render
from roles.view.console import console, interactive, print_json


def run(plan: Plan, *, json: bool, accept_new: bool) -> int:
    """Check a plan against its hosts; 0 when it can be deployed, 3 when not, 4 when a host did not answer."""
    checked = check(plan, accept_new=accept_new)
    if json:
        print_json(as_object(plan.name, checked.findings, checked.seconds))
    else:
        render(console(), plan.name, checked.findings, checked.seconds)
    return checked.exit_code


def fix(root: Path, replan: Callable[[], Plan], *, yes: bool, json: bool, accept_new: bool) -> int:
    """Check, do what is harmless if it is wanted, and check again: it ends as that second check does.

    Without a person to ask and without `yes` nothing is changed, and that is said.
    """
    plan = replan()
    checked = check(plan, accept_new=accept_new)
    wanted = checked.fixes
    if not json:
        render(console(), plan.name, checked.findings, checked.seconds)
        console().print(proposed(wanted))
    did: list[Fixed] = []
    if wanted and _may(wanted, yes):
        did = list(carry_out(root, plan, wanted, accept_new=accept_new))
        plan = replan()  # the profile may say more now
        checked = check(plan, accept_new=accept_new)
    _tell(plan, checked, wanted, did, json=json)
    return checked.exit_code


def _may(wanted: Sequence[Fix], yes: bool) -> bool:
    """Whether these may be done."""
    if yes:
        return True
    if not interactive():
        print("nothing was changed: there is nobody to ask; --yes does it without asking", file=sys.stderr)
        return False
    count = "this" if len(wanted) == 1 else f"these {len(wanted)}"
    print(f"do {count}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _tell(plan: Plan, checked: Checked, wanted: Sequence[Fix], did: Sequence[Fixed], *, json: bool) -> None:
    if json:
        done = {each.fix: each for each in did}
        rows = [
            {
                "topic": each.topic,
                "host": each.host or None,
                "what": each.what,
                "done": each in done and done[each].done,
                "why": done[each].why if each in done else "not asked for",
            }
            for each in wanted
        ]
        print_json({**as_object(plan.name, checked.findings, checked.seconds), "fixes": rows})
    elif did:
        for each in did:
            console().print(fixed(each.fix, each.done, each.why))
        render(console(), plan.name, checked.findings, checked.seconds)
