"""The story of `inv teardown`: node 0's main first and alone, then the groups, then nothing of the run is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from roles.inventory.errors import AllranksError, InputError, Leased, Unreachable
from roles.ledger import Ledger
from roles.plan.router import PROFILE as ROUTER
from roles.remote import Remote, each
from roles.server.deployment import AFTER_A_LOSS, stop_node
from roles.server.lease import Claim, patiently
from roles.server.standing import Standing
from roles.server.target import Hosts

Say = Callable[[str, dict[str, Any]], None]  # host, `stopping` frame


@dataclass(frozen=True)
class Stopped:
    """What became of a run. `nodes`: host -> its `stopped` frame; `trouble`: a line for each host where it failed."""

    run: Standing
    nodes: dict[str, dict[str, Any]]
    trouble: dict[str, AllranksError]
    seconds: float

    def raise_unless_clean(self) -> None:
        """Raises: Unreachable or AllranksError naming each host where something may be left."""
        if self.trouble:
            lost = any(isinstance(error, Unreachable) for error in self.trouble.values())
            text = "\n".join(map(str, self.trouble.values()))
            leased = all(isinstance(error, Leased) for error in self.trouble.values())
            kind = Unreachable if lost else Leased if leased else AllranksError
            raise kind(text, do="`inv teardown` again finishes the job" if lost else "")


def all_of(hosts: Hosts, named: Sequence[str]) -> list[Standing]:
    """Everything of ours that is not stopped on the named hosts, whole deployments only.

    Raises: InputError when one of them also runs on a host that was not named: it would be stopped there too.
    """
    runs = [run for run in hosts.runs() if not run.head.get("stopped")]
    beyond = [(run, _beyond(run, named)) for run in runs]
    if wide := [f"{run.deployment} also runs on {', '.join(others)}" for run, others in beyond if others]:
        raise InputError("; ".join(wide), do="name those hosts too, or tear it down by --name")
    return runs


def _beyond(run: Standing, named: Sequence[str]) -> list[str]:
    """Hosts of the run that are none of these. A node is where it was found: its host may have several names."""
    return [host for node, host in enumerate(run.hosts) if run.nodes.get(node, (host,))[0] not in named]


def teardown_all(
    hosts: Hosts, runs: Sequence[Standing], ledger: Ledger, say: Say, *, wait: float = 0.0
) -> list[Stopped]:
    """Stop each of these runs, routers first, so many at once as the hosts allow; every one reports."""
    first = [run for run in runs if run.profile == ROUTER]
    outcomes = [
        outcome
        for group in (first, [run for run in runs if run.profile != ROUTER])
        for outcome in each(group, lambda run: teardown(hosts, run, ledger, say, wait=wait), parallel=hosts.parallel)
    ]
    return [outcome.unwrap() for outcome in outcomes]


def teardown(
    hosts: Hosts, run: Standing, ledger: Ledger, say: Say, *, lost: bool = False, wait: float = 0.0
) -> Stopped:
    """Stop exactly this run on all of its hosts and wait until processes, port and GPU memory are free.

    `lost`: it serves nobody any more, so it gets seconds to end and not the profile's time to drain (timeouts.stop).
    `wait`: seconds to wait for another operator's lease. A host that does not answer is reported, the
    others are stopped all the same.
    """
    began = time.monotonic()
    grace = float((run.head.get("timeouts") or {}).get("stop") or 60.0)
    grace = min(grace, AFTER_A_LOSS) if lost else grace
    nodes: dict[str, dict[str, Any]] = {}
    trouble: dict[str, AllranksError] = {}
    everyone, claim = hosts.node_hosts(run), Claim("stopping")

    def stop(pair: tuple[int, Remote]) -> dict[str, Any]:
        node, remote = pair

        def waiting(text: str) -> None:
            say(remote.host.name, {"what": text})

        return patiently(lambda: stop_node(remote, run.run, node, grace, say, claim=claim), wait, waiting)

    for group in ([one for one in everyone if one[0] == 0], [one for one in everyone if one[0] != 0]):
        if not group:
            continue
        for outcome in each(group, stop):
            name = outcome.item[1].host.name
            if isinstance(outcome.error, AllranksError):
                trouble[name] = outcome.error
            else:
                nodes[name] = outcome.value or {}
    for name in run.silent:
        error = hosts.silent.get(name, Unreachable(f"{name}: no answer"))
        trouble[name] = Unreachable(f"{error} (its part of run {run.run} may still run)")
    if not trouble:
        ledger.stop(run.run, "stopped", time.time())
    return Stopped(run, nodes, trouble, time.monotonic() - began)
