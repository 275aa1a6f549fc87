"""Facts of each host + plan -> findings. What can be seen to be wrong is said at once, before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roles.inventory.errors import Refused
from roles.plan import NodePlan, Plan

Facts = dict[str, Any]

SKEW = 30.0  # seconds between this clock and a host's before it is said


@dataclass(frozen=True)
class Finding:
    """One thing found on one host. `level` is "refusal" or "warning"."""

    level: str
    host: str
    found: str
    do: str = ""

    def __str__(self) -> str:
        return f"{self.host}: {self.found}" + (f"; {self.do}" if self.do else "")


def findings(plan: Plan, facts: Sequence[Facts], *, ours: Sequence[str] = (), now: float) -> list[Finding]:
    """Hold each node's facts against its plan.

    Args: ours: runs that will be stopped before the start (their ports and memory do not count as taken);
    now: this machine's clock (epoch seconds), read when the facts arrived.
    """
    found: list[Finding] = []
    for node, fact in zip(plan.nodes, facts, strict=True):
        found += _ports(node, fact, ours) + _python(node, fact) + _model(plan, node, fact) + _gpus(node, fact)
        skew = float(fact["t"]) - now
        if abs(skew) > SKEW:
            found.append(
                Finding("warning", node.host.name, f"its clock is {skew:+.0f} s from this machine's", "set it (NTP)")
            )
    versions = {fact["venv"]["sglang"] for fact in facts if fact.get("venv") and fact["venv"].get("sglang")}
    if len(versions) > 1:
        found.append(
            Finding("refusal", plan.name, f"the hosts have different SGLang versions: {', '.join(sorted(versions))}")
        )
    return found


def refuse(found: Sequence[Finding]) -> None:
    """Raise Refused with every refusal, a line each."""
    refusals = [finding for finding in found if finding.level == "refusal"]
    if refusals:
        raise Refused("\n".join(str(finding) for finding in refusals))


def _ports(node: NodePlan, fact: Facts, ours: Sequence[str]) -> list[Finding]:
    found = []
    for port, entry in fact["ports"].items():
        holder = entry.get("holder")
        if not holder or holder.get("run") in ours:
            continue
        if holder.get("run"):
            what = f"port {port} is held by the deployment {holder.get('deployment')} (run {holder['run']})"
            do = f"inv teardown --name {holder.get('deployment')}, or --replace"
        else:
            what = f"port {port} is held by {described(holder)}"
            do = "end it or choose another port (--set port=…)"
        found.append(Finding("refusal", node.host.name, what, do))
    return found


def described(holder: dict[str, Any]) -> str:
    """A process that holds something: pid, user and command line, as far as they could be read."""
    user = f" of {holder['user']}" if holder.get("user") else ""
    if holder.get("pid") is None:
        return f"a process{user} that this login may not see"
    return f"pid {holder['pid']}{user}: {holder.get('cmdline') or holder.get('title') or '?'}"


def _python(node: NodePlan, fact: Facts) -> list[Finding]:
    venv = fact.get("venv")
    if not venv:
        return []
    if not venv.get("exists"):
        return [
            Finding(
                "refusal", node.host.name, f"there is no Python at {venv['python']}", "correct `venv` in the inventory"
            )
        ]
    if not venv.get("sglang"):
        return [
            Finding("refusal", node.host.name, f"{venv['python']} has no sglang", "install it there, or correct `venv`")
        ]
    return []


def _model(plan: Plan, node: NodePlan, fact: Facts) -> list[Finding]:
    path = str(plan.expected["model_path"])
    if path.startswith("/") and fact.get("models", {}).get(path) is False:
        return [Finding("refusal", node.host.name, f"there is no model at {path}", "copy it there, or correct `model`")]
    return []


def _gpus(node: NodePlan, fact: Facts) -> list[Finding]:
    if not node.gpus:
        return []
    there = {gpu["index"] for gpu in fact.get("gpus") or []}
    lacking = [gpu for gpu in node.gpus if gpu not in there]
    if not lacking:
        return []
    why = fact.get("gpu_error") or f"nvidia-smi lists {sorted(there)}"
    return [
        Finding(
            "refusal",
            node.host.name,
            f"GPU {', '.join(map(str, lacking))} of the plan is not there ({why})",
            "correct `gpus` in the inventory or the driver on the host",
        )
    ]
