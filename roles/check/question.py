"""A plan's node -> what its host is asked to look at closely (onhost/look.py)."""

from __future__ import annotations

from typing import Any

from roles.plan import NodePlan, Plan
from roles.plan.flags.offline import flags_of

SSH_PORT = 22


def question(plan: Plan, node: NodePlan) -> dict[str, Any]:
    """The `look` of a facts request. The other nodes are asked for at their SSH port, never at a rendezvous port."""
    peers = [
        {"name": other.host.name, "address": other.host.internal, "port": other.host.port or SSH_PORT}
        for other in plan.nodes
        if other.node != node.node
    ]
    return {
        "argv": list(flags_of(node.argv)),
        "environment": dict(node.environment),
        "python": node.argv[0],
        "model": str(plan.expected["model_path"]),
        "weights": plan.profile.flags.get("load_format") != "dummy",
        "folders": [node.host.workdir, "/dev/shm", "/tmp", *([folder_of(node.log)] if node.log else [])],
        "internal": node.host.internal if len(plan.nodes) > 1 else None,
        "peers": peers,
        "gpus": plan.profile.flags.get("device") != "cpu",
    }


def folder_of(path: str) -> str:
    """The folder a file of the host lies in."""
    return path.rsplit("/", 1)[0] or "/"
