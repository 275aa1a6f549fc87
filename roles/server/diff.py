"""The story of `inv diff`: ask each host what its server was given and uses, and hold it against the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roles.check.differences import Field, argv, environment, settings
from roles.inventory.errors import InputError
from roles.plan import NodePlan, Plan
from roles.remote import Remote, each, reach
from roles.server import standing


@dataclass(frozen=True)
class NodeDiff:
    """One node of the plan beside the run on its host. `trouble`: why the server's settings could not be had."""

    host: str
    run: str
    same_plan: bool
    fields: tuple[Field, ...]
    trouble: str = ""

    @property
    def different(self) -> bool:
        """Whether anything runs otherwise than planned."""
        return any(field.outcome == "different" for field in self.fields)


def diff(plan: Plan, *, accept_new: bool = False) -> list[NodeDiff]:
    """Every node's differences. Raises: InputError when the deployment does not run; Unreachable."""
    remotes = [reach(node.host, accept_new=accept_new) for node in plan.nodes]
    try:
        told = [outcome.unwrap() for outcome in standing.ask(remotes, health=False, ended=False)]
        pairs = list(zip(remotes, plan.nodes, told, strict=True))
        return [outcome.unwrap() for outcome in each(pairs, lambda pair: _node(plan, *pair))]
    finally:
        for remote in remotes:
            remote.close()


def _node(plan: Plan, remote: Remote, node: NodePlan, summaries: list[dict[str, Any]]) -> NodeDiff:
    mine = [each for each in summaries if each.get("deployment") == plan.name and each.get("alive")]
    if not mine:
        others = ", ".join(str(each.get("deployment")) for each in summaries if each.get("alive")) or "nothing of ours"
        what = f"{node.host.name}: {plan.name} does not run there ({others} does)"
        raise InputError(what, do=f"inv status --host {node.host.name}")
    request = {
        "workdir": node.host.workdir,
        "run": mine[-1]["run"],
        "address": node.probe_address,
        "port": node.port if node.node == 0 else None,
        "names": list(node.environment),
        "secrets": list(node.secrets),
    }
    answer = remote.one("running", request, "running", timeout=60.0)
    has = {**answer["environ"], **dict.fromkeys(answer["secrets"], "***")}
    fields = [*argv(node.argv, answer["argv"]), *environment(node, has)]
    if answer.get("settings") is not None:
        fields = [*settings(plan, answer["settings"], answer.get("version"), answer["argv"]), *fields]
    same_plan = answer.get("plan_hash") == plan.hash
    return NodeDiff(node.host.name, answer["run"], same_plan, tuple(fields), str(answer.get("error") or ""))
