"""How many round trips a deploy waits for, from connecting to the server's first process: the host's word is not in it.

`python -m tests.performance.trips`. Counted at a relay that takes 50 ms each way: what a deploy takes longer there than
at one that does not wait, in trips of 100 ms.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from roles.inventory import Host, load
from roles.lab.host import LabHost
from roles.plan import plan_for
from roles.server.deployment import Deployment
from roles.server.run import Run, new_id
from tests.hosts import labs
from tests.hosts.reach import shell
from tests.performance import plain
from tests.performance.bench import STANDIN
from tests.performance.delay import relayed

DELAY = 0.05  # seconds each way
ROUNDS = 5
KINDS = {
    "cold, the host has never been used": "rm -rf ~/.allranks",
    "cold, the on-host program is there": "true",
    "on a connection that is open": "true",
}


def seconds(root: Path, lab: LabHost, host: Host, *, open_already: bool) -> float:
    """Facts with the lease, then the start: how long until the first process of the server ran."""
    plan = plan_for(load(root).profile("bench", []), [host])
    with Deployment(plan, accept_new=True) as deployment:
        if open_already:
            deployment.facts()
        began = time.time()
        deployment.lease.facts(deployment.facts, lambda _: None)
        deployment.lease.require()
        run = Run(new_id(plan, began), plan, began)
        deployment.start(run, {})
        state = json.loads((labs.disk(lab) / f".allranks/runs/{run.id}/state.json").read_text())
        assert not deployment.stop(run.id)
    return float(state["started"]) - began


def measured(lab: LabHost, before: str, take: Callable[[float], float]) -> float:
    """The trips: the median of what the wait adds."""
    found = []
    for _ in range(ROUNDS):
        near, far = (shell(lab, f"HOME=/root; {before}") is not None and take(delay) for delay in (0.0, DELAY))
        found.append((far - near) / (2 * DELAY))
    return statistics.median(found)


def main() -> None:
    """A line for each kind of start."""
    with labs.made("trips", 1) as (lab,), tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        plain.inventory(root)
        plain.furnished(lab, STANDIN)

        def take(delay: float) -> float:
            with relayed((lab.address, lab.port), delay) as port:
                known = {"known_hosts": str(root / "known"), "proxy_command": None}
                host = plain.host_of(lab, address="127.0.0.1", port=port, **known)
                return seconds(root, lab, host, open_already=kind.startswith("on a"))

        for kind, before in KINDS.items():
            print(f"{kind}: {measured(lab, before, take):.1f} round trips", flush=True)


if __name__ == "__main__":
    main()
