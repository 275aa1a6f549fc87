"""`inv check`: what it prints and ends with."""

from __future__ import annotations

from roles.plan import Plan
from roles.server.check import check
from roles.view.check import as_object, render
from roles.view.console import console, print_json


def run(plan: Plan, *, json: bool, accept_new: bool) -> int:
    """Check a plan against its hosts; 0 when it can be deployed, 3 when not, 4 when a host did not answer."""
    checked = check(plan, accept_new=accept_new)
    if json:
        print_json(as_object(plan.name, checked.findings, checked.seconds))
    else:
        render(console(), plan.name, checked.findings, checked.seconds)
    return checked.exit_code
