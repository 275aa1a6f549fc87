"""The story of `inv check`: one question to each host, every finding at once, nothing changed."""

from __future__ import annotations

import time
from dataclasses import dataclass

from roles.check import Facts, Finding, findings
from roles.inventory.errors import AllranksError, Unreachable
from roles.plan import Plan
from roles.server.deployment import Deployment


@dataclass(frozen=True)
class Checked:
    """What a check found. `facts`: what each host said, in the plan's order; none where one did not answer."""

    plan: Plan
    findings: tuple[Finding, ...]
    facts: tuple[Facts, ...]
    seconds: float

    @property
    def exit_code(self) -> int:
        """0, 3 when a deploy would be refused, 4 when a host did not answer."""
        if any(finding.topic == "ssh" and finding.level == "refusal" for finding in self.findings):
            return Unreachable.exit_code
        return 3 if any(finding.level == "refusal" for finding in self.findings) else 0


def check(plan: Plan, *, accept_new: bool = False) -> Checked:
    """Ask every host of a plan and hold the answers against it. A host that does not answer is a finding too."""
    began = time.time()
    with Deployment(plan, accept_new=accept_new) as deployment:
        outcomes = deployment.ask()
        now = time.time()
        silent = [
            _silent(node.host.name, outcome.error)
            for node, outcome in zip(plan.nodes, outcomes, strict=True)
            if outcome.error
        ]
        if silent:
            return Checked(plan, tuple(silent), (), time.time() - began)
        facts = [outcome.unwrap() for outcome in outcomes]
        for remote, fact in zip(deployment.remotes, facts, strict=True):
            fact["sftp"] = remote.has_sftp()
        ours = [run.run for run in deployment.standing(facts) if run.alive and run.deployment == plan.name]
        found = [*_reached(deployment, facts), *findings(plan, facts, ours=ours, now=now)]
    return Checked(plan, tuple(found), tuple(facts), time.time() - began)


def _silent(host: str, error: Exception) -> Finding:
    do = error.do if isinstance(error, AllranksError) else ""
    text = error.message if isinstance(error, AllranksError) else str(error)
    return Finding("refusal", "ssh", host, text.removeprefix(f"{host}: "), do)


def _reached(deployment: Deployment, facts: list[Facts]) -> list[Finding]:
    """How each host was reached."""
    pairs = zip(deployment.plan.nodes, facts, strict=True)
    return [
        Finding("ok", "ssh", node.host.name, f"{fact.get('user')}@{node.host.address}, its key is the known one")
        for node, fact in pairs
    ]
