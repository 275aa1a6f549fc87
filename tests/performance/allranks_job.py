"""allranks_job ROOT NONCE HOST...: what `inv deploy` does up to the first log line, on each host for itself.

The same code as a deploy: facts with the lease, stop of the running predecessor, start, follow. Only the wait for a
model to load is left out: the "server" says one line and sleeps, since what is measured is our own cost.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from roles.inventory import Host, Profile, load
from roles.remote import Follower, Frame, begin, each

if TYPE_CHECKING:
    from roles.server.deployment import Deployment
    from roles.server.run import Run

Done = Callable[[str], None]


def job(profile: Profile, host: Host, done: Done = lambda _: None) -> str:
    """Deploy to one host; gives the run's id. `done` is told each step when it is over."""
    from roles.plan import plan_for
    from roles.server.deployment import Deployment
    from roles.server.run import Run, new_id

    plan = plan_for(profile, [host])
    with Deployment(plan) as deployment:
        facts = deployment.lease.facts(deployment.facts, lambda _: None)
        deployment.lease.require()
        done("facts")
        for old in deployment.standing(facts):
            if old.alive:
                assert not deployment.stop(old.run)
                done("stop")
        run = Run(new_id(plan, time.time()), plan, time.time())
        deployment.start(run, {})
        done("start")
        return first_line(deployment, run, done)


def first_line(deployment: Deployment, run: Run, done: Done) -> str:
    """Follow until the run's own line has come, and say so to the host."""
    nonce = run.plan.nodes[0].environment["NONCE"]
    seen, noted, said = threading.Event(), threading.Event(), [""]

    def emit(frame: Frame) -> None:
        if frame["f"] == "log":
            said[0] += frame["text"]
            if f"ready {nonce}" in said[0]:
                seen.set()
        elif frame["f"] == "noted":
            noted.set()

    request = {**run.follow_request(deployment.plan.nodes[0]), "probe": None, "lease": deployment.lease.id}
    follower = Follower(deployment.remotes[0], request, emit).start()
    assert seen.wait(60), f"{deployment.plan.name}: no first line"
    done("follow")
    follower.tell({"c": "up"})  # as a deploy ends: the host writes it down and drops the lease
    assert noted.wait(60), f"{deployment.plan.name}: not noted"
    done("up")
    deployment.lease.given_back()
    follower.stop()
    return run.id


def main(root: Path, nonce: str, names: list[str]) -> None:
    """All hosts at once; a line for each."""
    inventory = load(root)
    hosts = [inventory.host(name) for name in names]
    begin(hosts, "facts", parallel=len(hosts))  # as `inv deploy` does, before it reads the profile and imports the rest
    profile = inventory.profile("bench", [f"environment.NONCE={nonce}"])
    import roles.plan.build
    import roles.server.deployment  # noqa: F401

    for outcome in each(hosts, lambda host: job(profile, host), parallel=len(hosts)):
        print(outcome.item.name, outcome.unwrap())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
    sys.stdout.flush()
    os._exit(0)  # as `inv` would: no orderly goodbye to connections that nothing waits for
