"""The story of `inv check`: one question to each host, every finding at once, nothing changed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from roles.check import Facts, Finding, findings, login
from roles.check.fixes import Fix, fixes
from roles.inventory import Host
from roles.inventory.errors import AllranksError, Unreachable
from roles.plan import Plan
from roles.remote import Outcome, Remote, each
from roles.server.deployment import Deployment

SESSIONS = login.SESSIONS - 1  # beside the one in which the on-host program waits


@dataclass(frozen=True)
class Checked:
    """What a check found, and what could be done about it."""

    plan: Plan
    findings: tuple[Finding, ...]
    seconds: float
    fixes: tuple[Fix, ...] = ()

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
        told = deployment.ask()
        now = time.time()
        outcomes = each(list(zip(deployment.remotes, told, strict=True)), lambda pair: _with_line(*pair))
        ours = [run.run for run in deployment.runs(outcomes) if run.alive and run.deployment == plan.name]
        found = [_reached(node.host, outcome) for node, outcome in zip(plan.nodes, outcomes, strict=True)]
        found += findings(plan, [outcome.value for outcome in outcomes], ours=ours, now=now)
        mend = fixes(plan, [outcome.value for outcome in outcomes], now)
    return Checked(plan, tuple(found), time.time() - began, tuple(mend))


def _with_line(remote: Remote, told: Outcome[Any, Facts]) -> Facts:
    """A host's facts with what its line can do. Raises: what its facts ended with; Unreachable when it is lost now."""
    if told.value is None:
        raise told.error or AllranksError(f"{remote.host.name}: told nothing")
    return {**told.value, "sessions": remote.sessions(SESSIONS), "sftp": remote.has_sftp()}


def _reached(host: Host, outcome: Outcome[Any, Facts]) -> Finding:
    """How a host was reached, or why not: no way to it, or a Python there that does not run the on-host program."""
    error = outcome.error
    if outcome.value is not None:
        user = outcome.value.get("user")
        return Finding("ok", "ssh", host.name, f"{user}@{host.address}, its key is the known one")
    topic = "ssh" if isinstance(error, Unreachable) else "python"
    do = error.do if isinstance(error, AllranksError) else ""
    text = error.message if isinstance(error, AllranksError) else str(error)
    return Finding("refusal", topic, host.name, text.removeprefix(f"{host.name}: "), do)
