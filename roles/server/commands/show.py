"""`inv show`: what it prints and ends with. Connects nowhere."""

from __future__ import annotations

import sys

from roles.inventory.errors import InputError
from roles.inventory.shapes import RELEASE
from roles.plan import Plan
from roles.plan.flags import refuse
from roles.view.show import as_json, show


def run(plan: Plan, sglang: str | None, *, json: bool) -> int:
    """Print a plan. Raises: InputError for flags that this SGLang release does not take, and for one that is none."""
    if sglang:
        try:
            RELEASE.check(sglang)
        except ValueError as error:
            raise InputError(f"--sglang {sglang}: {error}") from None
    version = sglang or plan.profile.sglang
    for warning in refuse(plan.nodes[0].argv, version, plan.profile.name) if version else ():
        print(f"allranks: warning: {warning}", file=sys.stderr)
    print(as_json(plan) if json else show(plan), end="")
    if version and not json:
        print(f"\nflags     held against SGLang {version}: it takes them all")
    return 0
