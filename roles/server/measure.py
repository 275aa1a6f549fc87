"""The story of `inv topo --measure`: on GPUs that nobody uses, time what the profile's ranks will do between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from roles.inventory import Host
from roles.inventory.errors import AllranksError, Refused
from roles.plan import NodePlan, Plan
from roles.plan.groups import Group, groups, seats_of
from roles.remote import Remote
from roles.server.lease import Claim

SILENCE = 60.0  # seconds without a word from the host: it says something every 5
Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """anyway: also on GPUs that are in use. limit: seconds the measurement on one host may take."""

    anyway: bool = False
    limit: float = 300.0


def measure(host: Host, plan: Plan | None, facts: dict[str, Any], remote: Remote, options: Options, say: Say) -> Any:
    """One host's figures. Raises: Refused (nothing to measure, or a GPU is in use), Unreachable, AllranksError."""
    asked = _of_plan(plan, host) if plan else _of_host(host, facts)
    request = {
        **asked,
        "workdir": host.workdir,
        "limit": options.limit,
        "anyway": options.anyway,
        "claim": Claim("measuring").request(),
    }
    found: dict[str, Any] = {}
    for frame in remote.stream("measure", request, silence=SILENCE):
        if frame["f"] == "measuring":
            say(f"{host.name}: {frame['seconds']:.0f} s: {frame['step']} done")
        elif frame["f"] == "measured":
            found = {key: value for key, value in frame.items() if key not in ("f", "t")}
    if not found:
        raise AllranksError(f"{host.name}: the measurement ended without its figures")
    environment = {name: value for name, value in asked["environment"].items() if name.startswith(("NCCL_", "GLOO_"))}
    profile = plan.profile.name if plan else None
    return {"profile": profile, "environment": environment, "left_out": asked["left_out"], **found}


def _of_plan(plan: Plan, host: Host) -> dict[str, Any]:
    """What the plan's node on this host asks for."""
    node = next(node for node in plan.nodes if node.host.name == host.name)
    all_groups, seats = groups(plan, node), seats_of(plan, node)
    here = [group for group in all_groups if len(group.hosts) == 1]
    if len(seats) < 2:
        raise Refused(f"{host.name}: {plan.name} has one rank there: nothing lies between GPUs to be measured")
    return {
        "python": node.argv[0],
        "environment": dict(node.environment),
        "device": "cpu" if plan.profile.flags.get("device") == "cpu" else "cuda",
        "gpus": list(_gpus(node, len(seats))),
        "world": len(seats),
        "groups": [_group(group) for group in here],
        "left_out": [f"{group.name} spans {', '.join(group.hosts)}" for group in all_groups if group not in here],
    }


def _gpus(node: NodePlan, ranks: int) -> Sequence[int]:
    """As the plan has them; where nobody wrote them down, SGLang takes the first ones."""
    return node.gpus or tuple(range(ranks))


def _of_host(host: Host, facts: dict[str, Any]) -> dict[str, Any]:
    """Without a profile: all GPUs of the host as one group."""
    gpus = [int(gpu["index"]) for gpu in facts.get("gpus") or []]
    if len(gpus) < 2:
        has = f"it has {len(gpus) or 'no'} GPU{'' if len(gpus) == 1 else 's'}"
        why = f" ({facts['gpu_error']})" if facts.get("gpu_error") else ""
        do = "a profile with flags.device: cpu and two ranks measures Gloo between processes instead"
        raise Refused(f"{host.name}: nothing can be measured between GPUs: {has}{why}", do=do)
    everyone = Group("all GPUs", "all_reduce", tuple(range(len(gpus))), (host.name,))
    return {
        "python": f"{host.venv}/bin/python" if host.venv else host.python,
        "environment": {},
        "device": "cuda",
        "gpus": gpus,
        "world": len(gpus),
        "groups": [_group(everyone)],
        "left_out": [],
    }


def _group(group: Group) -> dict[str, Any]:
    told = asdict(group)
    return {"name": told["name"], "what": told["what"], "ranks": list(group.ranks)}
