"""The runs that stand where a deploy wants to be: which they are, whether they may be replaced, and their stop."""

from __future__ import annotations

from collections.abc import Sequence

from roles.inventory.errors import AllranksError, Refused
from roles.plan import Plan
from roles.server.confirm import Observer
from roles.server.deployment import Deployment
from roles.server.standing import Standing, port_of


def in_the_way(plan: Plan, standing: Sequence[Standing], *, replace: bool) -> list[Standing]:
    """Other deployments of ours on the plan's ports or GPUs. Refused unless `replace` was asked for."""
    found = []
    for other in standing:
        if other.deployment == plan.name:
            continue
        for host, summary in other.nodes.values():
            node = next((node for node in plan.nodes if node.host.name == host), None)
            if node is None:
                continue
            gpus = set(summary.get("gpus") or ()) & set(node.gpus)
            if gpus or port_of(summary) in node.ports:
                what = f"GPU {', '.join(map(str, sorted(gpus)))}" if gpus else f"port {port_of(summary)}"
                found.append((other, host, what))
    if found and not replace:
        raise Refused(
            "\n".join(
                f"{host}: {what} belongs to the deployment {other.deployment} (run {other.run}, by "
                f"{other.head.get('who')}); inv teardown --name {other.deployment}, or --replace"
                for other, host, what in found
            )
        )
    return list({other.run: other for other, _, _ in found}.values())


def all_here(plan: Plan, standing: Standing) -> None:
    """Refuse to replace a run that also has nodes on hosts this plan does not reach, before anything is stopped."""
    elsewhere = set(standing.hosts) - set(plan.hosts)
    if elsewhere:
        raise Refused(
            f"the run {standing.run} of {standing.deployment} also runs on {', '.join(sorted(elsewhere))}",
            do=f"inv teardown --name {standing.deployment}",
        )


def stop_old(deployment: Deployment, standing: Standing, observer: Observer) -> None:
    """Stop a run that this deploy replaces. Raises: AllranksError when something of it is left."""
    observer.step(f"stopping run {standing.run} of {standing.deployment}")
    hosts = {host for host, _ in standing.nodes.values()}
    nodes = [node.node for node in deployment.plan.nodes if node.host.name in hosts]
    trouble = deployment.stop(standing.run, nodes)
    if trouble:
        raise AllranksError("\n".join(trouble))
