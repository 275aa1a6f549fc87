"""`inv teardown --all`: what it prints and ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roles.inventory import load
from roles.inventory.errors import InputError, NoHost, SomeHosts
from roles.ledger import Ledger
from roles.server.commands.routers import leave_routers
from roles.server.target import Hosts
from roles.server.teardown import Stopped, all_of, teardown_all
from roles.view import report as words
from roles.view.console import console, print_json
from roles.view.replicas import summary


def run(
    root: Path, host: str | None, name: str | None, *, wait: float, parallel: int, json: bool, accept_new: bool
) -> int:
    """Stop everything of ours on the named hosts: 0 nothing is left, 10 something is, 11 nothing could be stopped."""
    if not host or name:
        raise InputError(
            "teardown --all stops everything of ours on the hosts that are named" if not host else "--all and --name",
            do="name the hosts: --host HOST" if not host else "leave one of them out",
        )
    inventory = load(root)
    looked_at = inventory.hosts(host)
    with Hosts(inventory, looked_at, accept_new=accept_new, parallel=parallel) as hosts:
        runs = all_of(hosts, [one.name for one in looked_at])
        leave_routers(root, runs, accept_new=accept_new)
        with words.Stopping(quiet=json) as progress:
            stopped = teardown_all(hosts, runs, Ledger(root), progress.say, wait=wait)
        silent = [_silent(host, error) for host, error in hosts.silent.items()]
    told = [*map(_told, stopped), *silent]
    if json:
        print_json({"deployments": told, "stopped": sum(row["ok"] for row in told), "of": len(told)})
    elif told:
        summary(console(), told, "are stopped")
    else:
        console().print(f"nothing of ours runs on {', '.join(one.name for one in looked_at)}")
    good = [row["ok"] for row in told]
    return 0 if all(good) else SomeHosts.exit_code if any(good) else NoHost.exit_code


def _told(done: Stopped) -> dict[str, Any]:
    why = "; ".join(map(str, done.trouble.values())) or done.run.deployment
    return {
        "host": ", ".join(done.run.hosts),
        "deployment": done.run.deployment,
        "outcome": "left" if done.trouble else "stopped",
        "ok": not done.trouble,
        "run": done.run.run,
        "seconds": round(done.seconds, 3),
        "sentence": why,
    }


def _silent(host: str, error: Exception) -> dict[str, Any]:
    told = {"host": host, "deployment": None, "outcome": "no answer", "ok": False, "run": None, "seconds": 0.0}
    return {**told, "sentence": str(error)}
