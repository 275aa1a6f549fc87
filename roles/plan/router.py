"""Replicas + a host -> the plan of SGLang's own router in front of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from roles.inventory.endpoint import url
from roles.inventory.errors import InputError
from roles.plan.plan import Plan
from roles.plan.script import render

if TYPE_CHECKING:
    from roles.inventory.host import Host

POLICIES = ("cache_aware", "power_of_two", "random", "round_robin")  # of sglang-router 0.3, without those for P/D
PROFILE = "router"  # what its runs have for a profile
GRACE = 30  # seconds that it lets requests finish when it is stopped
LOOK_EVERY = 10  # seconds between its own looks at each replica; the router's default is 60


@dataclass(frozen=True)
class RouterPlan:
    """A router on one host."""

    name: str
    host: Host
    port: int
    policy: str
    workers: tuple[str, ...]  # the replicas' URLs as the router's host reaches them
    argv: tuple[str, ...]
    script: str
    hash: str

    @property
    def ports(self) -> tuple[int, ...]:
        """HTTP, and its own metrics."""
        return self.port, self.port + 1


def url_of(replica: Plan) -> str:
    """Where other hosts reach a replica."""
    head = replica.nodes[0]
    return url(head.host.internal, head.port)


def plan_router(host: Host, replicas: Sequence[Plan], policy: str, port: int, venv: str | None = None) -> RouterPlan:
    """The router's plan. Raises: InputError."""
    if policy not in POLICIES:
        raise InputError(f"--policy {policy}: not a policy of SGLang's router", do=f"one of {', '.join(POLICIES)}")
    if not 0 < port < 65535:
        raise InputError(f"--port {port}: not a port (its metrics take the one above)")
    if taken := [plan.name for plan in replicas if plan.nodes[0].host.name == host.name and plan.nodes[0].port == port]:
        raise InputError(f"--port {port} is the port of {taken[0]} on the same host", do="choose another: --port N")
    if hidden := [plan.name for plan in replicas if plan.profile.host in ("127.0.0.1", "localhost", "::1")]:
        raise InputError(
            f"{hidden[0]} listens on {replicas[0].profile.host} alone: a router elsewhere cannot reach it",
            do="set host: 0.0.0.0 in the profile",
        )
    venv = venv or host.venv
    python = str(PurePosixPath(venv, "bin", "python")) if venv else host.python
    workers, name = tuple(url_of(plan) for plan in replicas), f"{PROFILE}@{host.name}"
    argv = (
        python,
        *("-m", "sglang_router.launch_router"),
        *("--host", "0.0.0.0", "--port", str(port), "--prometheus-port", str(port + 1)),
        *("--policy", policy, "--shutdown-grace-period-secs", str(GRACE), "--log-level", "warn"),
        *("--health-check-interval-secs", str(LOOK_EVERY), "--health-failure-threshold", "2"),
        *("--worker-urls", *workers),
    )
    script = render(title=name, host=host.name, argv=argv, environment={}, venv=venv, secrets=False)
    content = json.dumps([name, host.workdir, argv, script])
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    return RouterPlan(name, host, port, policy, workers, argv, script, digest)
