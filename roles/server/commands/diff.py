"""`inv diff`: what it prints and ends with."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from roles.check.profiles import profiles
from roles.inventory import load
from roles.inventory.errors import Different
from roles.plan import Plan
from roles.server.diff import diff
from roles.view import diff as view
from roles.view.console import console, print_json


def run(plan: Plan, *, every: bool, json: bool, accept_new: bool) -> int:
    """A plan against what runs: 0 when it runs as planned, 8 when not."""
    found = diff(plan, accept_new=accept_new)
    if json:
        nodes = [{**asdict(node), "different": node.different} for node in found]
        print_json({"deployment": plan.name, "plan": plan.hash, "nodes": nodes})
    else:
        out = console()
        for node in found:
            note = "" if node.same_plan else ", deployed from another plan"
            view.render(out, f"{node.host} (run {node.run}{note})", node.fields, every=every)
            if node.trouble:
                out.print(f"  the server does not tell its settings: {node.trouble}", style="warn")
    return Different.exit_code if any(node.different for node in found) else 0


def of_profiles(root: Path, one: str, other: str, *, every: bool, json: bool) -> int:
    """Two profiles key by key; 0 either way. Connects nowhere."""
    inventory = load(root)
    rows = list(profiles(inventory.profile(one), inventory.profile(other)))
    if json:
        print_json({key: [left, right] for key, left, right in rows if every or left != right})
    else:
        view.profiles(console(), one, other, rows, every=every)
    return 0
