"""`inv topo`: what it prints and ends with."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roles.check.drawing import draw
from roles.check.finding import Node
from roles.check.topology import look, numa_of
from roles.inventory import Host
from roles.inventory.errors import AllranksError
from roles.ledger import Measurements
from roles.plan import Plan
from roles.remote import Remote, each
from roles.server.measure import Options, measure
from roles.view.console import console, print_json
from roles.view.measured import lines


def run(
    root: Path, hosts: Sequence[Host], plan: Plan | None, measuring: Options | None, *, json: bool, accept_new: bool
) -> int:
    """Draw each host's GPUs; with a plan its ranks in their places; measured as they are now, or when they last were.

    0, or the exit code of a host that is silent or where nothing can be measured.
    """
    outcomes = each(hosts, lambda host: _ask(host, accept_new))
    told = {host.name: outcome.value for host, outcome in zip(hosts, outcomes, strict=True) if outcome.value}
    errors = [outcome.error for outcome in outcomes if isinstance(outcome.error, AllranksError)]
    objects: dict[str, Any] = {}
    for host in (host for host in hosts if host.name in told):
        facts = told[host.name]
        if not json:
            _draw(host, plan, facts)
        figures = Measurements(root).last(host.name, plan.profile.name if plan else None)
        if measuring:
            try:
                with Remote(host, accept_new=accept_new) as remote:
                    found = measure(host, plan, facts, remote, measuring, _progress)
                figures = Measurements(root).keep(host.name, found, time.time())
            except AllranksError as error:
                errors.append(error)
        objects[host.name] = {**_object(host, facts, _seats(plan, host)), "measured": figures}
        for line in lines(figures) if figures and not json else ():
            console().print(f"  {line}", markup=False)
    if json:
        print_json(objects)
    if errors:
        raise type(errors[0])("\n".join(map(str, errors)))
    return 0


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _ask(host: Host, accept_new: bool) -> dict[str, Any]:
    with Remote(host, accept_new=accept_new) as remote:
        return remote.one("facts", {"workdir": host.workdir, "ports": [], "look": {"gpus": True}}, "facts")


def _draw(host: Host, plan: Plan | None, facts: dict[str, Any]) -> None:
    drawn = [*draw(host.name, facts, _written(host), _seats(plan, host))]
    for line in [*drawn, *(f"  {finding}" for finding in _findings(plan, host, facts))]:
        console().print(line, markup=False)


def _seats(plan: Plan | None, host: Host) -> dict[int, str]:
    ranks = plan.ranks if plan else ()
    return {seat.gpu: seat.label for seat in ranks if seat.host == host.name and seat.gpu is not None}


def _written(host: Host) -> dict[int, int | None]:
    return {gpu.index: gpu.numa for gpu in host.gpus}


def _findings(plan: Plan | None, host: Host, facts: dict[str, Any]) -> list[str]:
    if plan is None:
        return []
    nodes = [Node(plan, node, facts, (), float(facts["t"])) for node in plan.nodes if node.host.name == host.name]
    return [str(finding) for node in nodes for finding in look(node)]


def _object(host: Host, facts: dict[str, Any], seats: dict[int, str]) -> dict[str, Any]:
    cards = facts["look"].get("cards") or {}
    numa = numa_of(facts, _written(host))
    gpus = [{**gpu, "numa": numa.get(gpu["index"]), "rank": seats.get(gpu["index"])} for gpu in facts.get("gpus") or []]
    return {"gpus": gpus, "error": facts.get("gpu_error"), **cards}
