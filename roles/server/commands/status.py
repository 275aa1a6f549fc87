"""`inv status`: what it prints and ends with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from roles.inventory import Inventory
from roles.server.commands.find import Surveyed
from roles.server.router import url_of_run
from roles.server.standing import Standing, port_of
from roles.server.state import State, state_of
from roles.view.console import console, print_json
from roles.view.status import Row, render


def run(found: Surveyed, *, json: bool) -> int:
    """Every deployment on the hosts; ends with the worst state's exit code, 4 when a host did not answer."""
    with found.hosts as hosts:
        runs = [run for run in hosts.runs(health=True) if not found.names or _is_one(run, found.names)]
    states = [state_of(run) for run in runs]
    silent = {host: str(error) for host, error in hosts.silent.items()}
    rows = [_row(run, state, found.inventory) for run, state in zip(runs, states, strict=True)]
    if json:
        print_json({"deployments": [row.as_dict() for row in rows], "silent": silent})
    else:
        render(console(), rows, silent, [host.name for host in found.looked_at], time.time())
    worst = max((state.exit_code for state in states), default=0)
    return worst or (max(error.exit_code for error in hosts.silent.values()) if hosts.silent else 0)


def _is_one(run: Standing, names: Sequence[str]) -> bool:
    return any(name == run.deployment or run.run.startswith(name) for name in names)


def _row(run: Standing, state: State, inventory: Inventory) -> Row:
    head = run.head
    memory = {}
    for host, summary in run.nodes.values():
        if gpus := summary.get("gpu_memory"):
            used, total = (sum(gpu[key] or 0 for gpu in gpus) for key in ("used_mib", "total_mib"))
            memory[host] = f"{used:,} of {total:,} MiB"
    return Row(
        deployment=run.deployment,
        run=run.run,
        profile=run.profile,
        hosts=run.hosts,
        state=state.word,
        sentence=_served(head["workers"]) if head.get("workers") is not None else state.sentence,
        since=float(run.up or run.started) if state.word in ("up", "unhealthy") else run.started,
        ranks=len(state.ranks),
        living=len(state.living),
        missing=[label for label in state.ranks if label not in state.living],
        port=port_of(head),
        health=head.get("health"),
        memory=memory,
        who=str(head.get("who")),
        url=url_of_run(run, inventory),
        workers=head.get("workers"),
    )


def _served(workers: list[dict[str, Any]]) -> str:
    """What a router says of its replicas."""
    ill = [worker["url"] for worker in workers if not worker["healthy"]]
    return f"serves {len(workers) - len(ill)} of {len(workers)} replicas" + (
        f"; not well: {', '.join(ill)}" if ill else ""
    )
