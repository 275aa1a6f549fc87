"""One try at a deployment: its id, who makes it, and what each host is told to start."""

from __future__ import annotations

import getpass
import secrets
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from roles.plan import NodePlan, Plan


def who() -> str:
    """The operator, as `user@machine`: it is written beside each run for the others who use the host."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):  # a uid without a name
        return f"unknown@{socket.gethostname()}"


def new_id(plan: Plan, now: float) -> str:
    """An id for a run of this plan."""
    return new_run_id(plan.profile.name, now)


def new_run_id(profile: str, now: float) -> str:
    """A run's id: UTC time, profile, four random letters: sorts by time, readable in a folder listing."""
    letters = "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(4))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{profile}-{letters}"


@dataclass(frozen=True)
class Run:
    """One try at a plan. `started` is this machine's clock (epoch, seconds)."""

    id: str
    plan: Plan
    started: float
    by: str = field(default_factory=who)

    def start_request(self, node: NodePlan, values: dict[str, str]) -> dict[str, Any]:
        """What `onhost start` needs for this node. `values`: the secrets' values by name, for the 0600 file only."""
        plan = self.plan
        return {
            "workdir": node.host.workdir,
            "run": self.id,
            "deployment": plan.name,
            "profile": plan.profile.name,
            "plan_hash": plan.hash,
            "node": node.node,
            "nnodes": len(plan.nodes),
            "hosts": [other.host.name for other in plan.nodes],
            "who": self.by,
            "from": socket.gethostname(),
            "script": node.script,
            "secrets": values,
            "plan": summary(plan, node),
            "port": node.port,
            "ports": list(node.ports),
            "gpus": list(node.gpus),
            "ranks": [{"label": s.label, "title": s.title, "gpu": s.gpu} for s in plan.ranks if s.node == node.node],
            "log_link": node.log,
        }

    def follow_request(self, node: NodePlan, *, offset: int = 0) -> dict[str, Any]:
        """What `onhost follow` needs to watch this node; HTTP is probed on node 0 alone (others answer a dummy 200)."""
        profile = self.plan.profile
        probe = {
            "address": node.probe_address,
            "port": node.port,
            "model": self.plan.expected.get("served_model_name") or self.plan.expected["model_path"],
            "health_timeout": profile.timeouts.health,
            "generation_timeout": profile.timeouts.generation,
            "prompt": "Say hello.",
        }
        return {
            "workdir": node.host.workdir,
            "run": self.id,
            "from": offset,
            "port": node.port,
            "probe": probe if node.node == 0 else None,
            "given": {"names": list(node.environment), "secrets": list(node.secrets)},
            "gpus": bool(node.gpus),
            "log": True,
            "watch": True,
        }


def summary(plan: Plan, node: NodePlan) -> dict[str, Any]:
    """The plan as the host keeps it, for whoever looks at the run with a shell there. No secret values."""
    return {
        "deployment": plan.name,
        "profile": plan.profile.name,
        "hash": plan.hash,
        "probe_address": node.probe_address,
        "expected": dict(plan.expected),
        "layout": plan.profile.layout.model_dump(),
        "timeouts": plan.profile.timeouts.model_dump(),
        "ranks": [
            {"label": s.label, "node": s.node, "host": s.host, "gpu": s.gpu, "numa": s.numa, "title": s.title}
            for s in plan.ranks
        ],
    }
