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
    if wanted and _may(wanted, yes, shown=not json):
        did = _done(root, plan, wanted, accept_new)
        plan = replan()  # the profile may say more now
        checked = check(plan, accept_new=accept_new)
    _tell(plan, checked, wanted, did, json=json)
    return checked.exit_code


def _done(root: Path, plan: Plan, wanted: Sequence[Fix], accept_new: bool) -> list[Fixed]:
    """What became of each; when it is broken off, what was done until then is told before it ends."""
    did: list[Fixed] = []
    try:
        did.extend(carry_out(root, plan, wanted, accept_new=accept_new))
    except BaseException:
        out = console(stderr=True)
        for each in did:
            out.print(fixed(each.fix, each.done, each.why))
        heard = sum(each.done is not None for each in did)
        print(f"broken off: {len(wanted) - heard} of {len(wanted)} may not be done; see inv check", file=sys.stderr)
        raise
    return did


def _may(wanted: Sequence[Fix], yes: bool, *, shown: bool) -> bool:
    """Whether these may be done. `shown`: they have been named already; else they are before anyone is asked."""
    if yes:
        return True
    if not interactive():
        print("nothing was changed: there is nobody to ask; --yes does it without asking", file=sys.stderr)
        return False
    if not shown:
        console(stderr=True).print(proposed(wanted))
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
                "done": done[each].done if each in done else False,
                "why": done[each].why if each in done else "not asked for",
            }
            for each in wanted
        ]
        print_json({**as_object(plan.name, checked.findings, checked.seconds), "fixes": rows})
    elif did:
        for each in did:
            console().print(fixed(each.fix, each.done, each.why))
        changed = any(each.done is not False for each in did)
        render(console(), plan.name, checked.findings, checked.seconds, changed=changed)
