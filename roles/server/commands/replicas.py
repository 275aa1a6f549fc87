"""`inv deploy --replicas`: what it prints and ends with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from roles.inventory import load
from roles.inventory.endpoint import url
from roles.inventory.errors import InputError, NoHost, SomeHosts
from roles.ledger import Ledger
from roles.plan import Plan
from roles.remote import begin
from roles.server.commands.routers import routers_of
from roles.server.deploy import Options
from roles.server.replicas import Replica, Rollout, plans_for, roll_out
from roles.view.console import console, print_json
from roles.view.replicas import STYLES, Observed, Rows, summary


class _Screen:
    """The rows, fed by the roll-out."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def replica(self, plan: Plan) -> Observed:
        return self._rows.of(plan.name)

    def ended(self, replica: Replica) -> None:
        words = replica.sentence.splitlines()[0] if replica.sentence else replica.outcome
        self._rows.say(replica.plan.name, words, STYLES.get(replica.outcome, "bad"), done=True)


def rollout(several: bool, batch: int, max_failures: int, rolling: bool, parallel: int, deadline: float) -> Rollout:
    """The options as they were typed. Raises: InputError."""
    for name, value in (("batch", batch), ("max-failures", max_failures), ("deadline", deadline)):
        if value < 0:
            raise InputError(f"--{name} {value}: must not be negative")
    if not several and (batch or max_failures or deadline):
        raise InputError("--batch, --max-failures and --deadline are for replicas", do="add --replicas")
    if rolling and batch > 1:
        raise InputError(f"--rolling is one host after the other, --batch {batch} is not", do="leave one of them out")
    if parallel < 1:
        raise InputError(f"--parallel {parallel}: must be 1 or more")
    return Rollout(1 if rolling else batch, max_failures, parallel, deadline or None)


def run(root: Path, host: str | None, profile: str | None, options: Options, rollout: Rollout, *, json: bool) -> int:
    """Roll out, and end with 0 (all are up), 10 (some are) or 11 (none is)."""
    inventory = load(root)
    read, hosts = inventory.profile(profile or "", options.overrides), inventory.hosts(host or "")
    begin(hosts[: rollout.batch or None], "facts", accept_new=options.accept_new, parallel=rollout.parallel)
    plans = plans_for(read, hosts)
    options = replace(options, routers=routers_of(root, accept_new=options.accept_new))
    rows = Rows([plan.name for plan in plans])
    try:
        with rows:
            replicas = roll_out(plans, _Screen(rows), Ledger(root), options, rollout)
    except KeyboardInterrupt:
        print("\nallranks: stopped looking; every server was left as it is (inv status)", file=sys.stderr)
        return 130
    told = [_told(replica) for replica in replicas]
    if json:
        print_json({"replicas": told, "up": sum(row["ok"] for row in told), "of": len(told)})
    else:
        summary(console(), told, "are up")
    return exit_code([replica.up for replica in replicas])


def exit_code(good: Sequence[bool]) -> int:
    """0: all of them, 10: some, 11: none."""
    if all(good):
        return 0
    return SomeHosts.exit_code if any(good) else NoHost.exit_code


def _told(replica: Replica) -> dict[str, Any]:
    head, report = replica.plan.nodes[0], replica.report
    return {
        "host": head.host.name,
        "deployment": replica.plan.name,
        "outcome": replica.outcome,
        "ok": replica.up,
        "run": report.run if report else None,
        "url": url(head.host.address, head.port),
        "seconds": round(replica.seconds, 3),
        "sentence": replica.sentence,
        "exit_code": getattr(replica.error, "exit_code", None),
    }
