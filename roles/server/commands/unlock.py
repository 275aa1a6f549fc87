"""`inv unlock`: what it prints and ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roles.inventory import load
from roles.inventory.errors import InputError
from roles.remote import Remote, each
from roles.server.run import who
from roles.view.console import choose, console, print_json


def run(root: Path, host: str | None, name: str | None, *, json: bool, accept_new: bool) -> int:
    """Take over a lease by name: 0 when it is taken, also when none stood any more.

    `name` is the deployment it covers; where several stand and none is named it is asked which.
    """
    if not host:
        raise InputError("unlock: which host?", do="inv unlock --host HOST (the refusal names it)")
    remotes = [Remote(one, accept_new=accept_new) for one in load(root).hosts(host)]
    try:
        standing = [lease for o in each(remotes, lambda remote: _ask(remote, "show")) for lease in o.unwrap()]
        chosen = _chosen(name, sorted({str(lease["deployment"]) for lease in standing}))
        taken = {o.item.host.name: o.unwrap() for o in each(remotes, lambda remote: _take(remote, chosen))}
    finally:
        for remote in remotes:
            remote.close()
    _print(taken, chosen, json=json)
    return 0


def _chosen(name: str | None, deployments: list[str]) -> str:
    if name or len(deployments) <= 1:
        return name or "".join(deployments)
    chosen = choose("whose lease?", deployments)
    if chosen is None:
        raise InputError(f"several leases stand there: {', '.join(deployments)}", do="name one: --name DEPLOYMENT")
    return chosen


def _take(remote: Remote, chosen: str) -> list[dict[str, Any]]:
    return _ask(remote, "unlock", which=chosen, who=who()) if chosen else []


def _ask(remote: Remote, do: str, **more: Any) -> list[dict[str, Any]]:
    request = {"workdir": remote.host.workdir, "do": do, **more}
    return list(remote.one("lease", request, "leases")["taken" if do == "unlock" else "leases"])


def _print(taken: dict[str, list[dict[str, Any]]], chosen: str, *, json: bool) -> None:
    if json:
        print_json({"taken": taken})
        return
    out = console()
    for host, leases in taken.items():
        for lease in leases:
            out.print(f"{host}: taken from {lease['words']}")
        if not leases:
            out.print(f"{host}: no lease stands{f' on {chosen}' if chosen else ''}; nothing to take over")
