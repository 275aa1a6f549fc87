"""`inv topo`: what it prints and ends with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roles.check.drawing import draw
from roles.check.finding import Node
from roles.check.topology import look, numa_of
from roles.inventory import Host
from roles.inventory.errors import AllranksError
from roles.plan import Plan
from roles.remote import Remote, each
from roles.view.console import console, print_json


def run(hosts: Sequence[Host], plan: Plan | None, *, json: bool, accept_new: bool) -> int:
    """Draw each host's GPUs; with a plan its ranks in their places. 0, or the exit code of a host that is silent."""
    outcomes = each(hosts, lambda host: _ask(host, accept_new))
    told = {host.name: outcome.value for host, outcome in zip(hosts, outcomes, strict=True) if outcome.value}
    seats = {host.name: _seats(plan, host) for host in hosts}
    if json:
        print_json({host.name: _object(host, told[host.name], seats[host.name]) for host in hosts if host.name in told})
    else:
        for host in hosts:
            for line in draw(host.name, told[host.name], _written(host), seats[host.name]) if host.name in told else ():
                console().print(line, markup=False)
            for finding in _findings(plan, host, told.get(host.name)):
                console().print(f"  {finding}", markup=False)
    errors = [outcome.error for outcome in outcomes if isinstance(outcome.error, AllranksError)]
    if errors:
        raise type(errors[0])("\n".join(map(str, errors)))
    return 0


def _ask(host: Host, accept_new: bool) -> dict[str, Any]:
    with Remote(host, accept_new=accept_new) as remote:
        return remote.one("facts", {"workdir": host.workdir, "ports": [], "look": {"gpus": True}}, "facts")


def _seats(plan: Plan | None, host: Host) -> dict[int, str]:
    ranks = plan.ranks if plan else ()
    return {seat.gpu: seat.label for seat in ranks if seat.host == host.name and seat.gpu is not None}


def _written(host: Host) -> dict[int, int | None]:
    return {gpu.index: gpu.numa for gpu in host.gpus}


def _findings(plan: Plan | None, host: Host, facts: dict[str, Any] | None) -> list[str]:
    if plan is None or facts is None:
        return []
    nodes = [Node(plan, node, facts, (), float(facts["t"])) for node in plan.nodes if node.host.name == host.name]
    return [str(finding) for node in nodes for finding in look(node)]


def _object(host: Host, facts: dict[str, Any], seats: dict[int, str]) -> dict[str, Any]:
    cards = facts["look"].get("cards") or {}
    numa = numa_of(facts, _written(host))
    gpus = [{**gpu, "numa": numa.get(gpu["index"]), "rank": seats.get(gpu["index"])} for gpu in facts.get("gpus") or []]
    return {"gpus": gpus, "error": facts.get("gpu_error"), **cards}
