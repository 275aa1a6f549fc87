"""`inv router`: what it prints and ends with."""

from __future__ import annotations

import sys
from pathlib import Path

from roles.inventory import load
from roles.inventory.endpoint import url
from roles.inventory.errors import InputError
from roles.ledger import Ledger
from roles.plan.router import plan_router
from roles.server.replicas import plans_for
from roles.server.router import Routed, deploy_router
from roles.view.console import console, print_json

DEGRADED = 10  # it is there, but not with all of its replicas: as of several hosts some


def run(
    root: Path,
    host: str | None,
    hosts: str | None,
    profile: str | None,
    *,
    policy: str,
    port: int,
    venv: str | None,
    restart: bool,
    wait: float,
    json: bool,
    accept_new: bool,
) -> int:
    """Deploy the router: 0 when it serves all replicas, 10 when it is up and serves some."""
    if not hosts or not profile:
        raise InputError("router: in front of what?", do="inv router --hosts REPLICAS --profile PROFILE [--host HOST]")
    inventory = load(root)
    replicas = plans_for(inventory.profile(profile, ()), inventory.hosts(hosts))
    place = inventory.hosts(host)[0] if host else replicas[0].nodes[0].host
    plan = plan_router(place, replicas, policy, port, venv)
    done = deploy_router(
        plan, lambda text: print(text, file=sys.stderr), Ledger(root), restart=restart, wait=wait, accept_new=accept_new
    )
    _print(done, json=json)
    return DEGRADED if done.missing else 0


def _print(done: Routed, *, json: bool) -> None:
    plan = done.plan
    where = url(plan.host.address, plan.port)
    if json:
        print_json(
            {
                "deployment": plan.name,
                "run": done.run,
                "url": where,
                "policy": plan.policy,
                "unchanged": done.unchanged,
                "workers": list(done.workers),
                "missing": done.missing,
            }
        )
        return
    out = console()
    what = "is up and unchanged" if done.unchanged else "is up"
    out.print(f"{plan.name} {what}: {where}, {plan.policy}, run {done.run}")
    for worker in done.workers:
        out.print(f"  {worker['url']}  {'well' if worker['healthy'] else 'NOT well'}")
    for missing in done.missing:
        if missing not in [worker["url"] for worker in done.workers]:
            out.print(f"  {missing}  NOT served: does it run? inv status")
