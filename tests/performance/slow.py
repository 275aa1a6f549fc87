"""Wall time of the commands on a line with 100 ms round trips, beside the same without it, with the stand-in server.

Run it by hand, as root: `python -m tests.performance.slow`. Of a deploy the server's own load, from its start to its
ready line, is taken off.
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from roles.lab.host import LabHost
from roles.lab.written import entry
from tests.hosts import labs, slow
from tests.hosts.clone import Clone

ROUND_TRIP = 0.1  # seconds
ROUNDS = 5
PORT = 31950
READY = re.compile(r"([\d.]+) s  lab1  -  ready line")
COMMANDS = {
    "deploy": ("deploy", "--profile", "one"),
    "deploy, unchanged": ("deploy", "--profile", "one"),
    "status": ("status",),
    "logs": ("logs",),
    "teardown": ("teardown",),
}


def main() -> None:
    """Print a table for one host, then for a deployment over two."""
    with labs.made("slow", 2) as hosts:
        for count in (1, 2):
            measure(hosts[:count])


def measure(hosts: Sequence[LabHost]) -> None:
    """A row for each command: median seconds near and far, and the round trips between them."""
    near, far = times(hosts, 0.0), times(hosts, ROUND_TRIP)
    print(f"{len(hosts)} host{'s' * (len(hosts) > 1)} | near s | with 100 ms round trips s | round trips")
    for name, seconds in near.items():
        trips = (far[name] - seconds) / ROUND_TRIP
        print(f"{name} | {seconds:.2f} | {far[name]:.2f} | {trips:.1f}", flush=True)


def times(hosts: Sequence[LabHost], round_trip: float) -> dict[str, float]:
    """Command -> median seconds; the first deploy, which brings the program to the host, stands for itself."""
    names = ",".join(host.name for host in hosts)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ways = {
            host.name: stack.enter_context(slow.line(host, round_trip, folder)) if round_trip else {} for host in hosts
        }
        clone = Clone(folder / "clone").make()
        stack.callback(clone.close)
        clone.hosts({host.name: {**entry(host.folder, host), **ways[host.name]} for host in hosts})
        clone.profile("one", PORT, layout={"tp": 1, "pp": len(hosts), "nnodes": len(hosts)})
        took: dict[str, list[float]] = {"first deploy": []}
        for number in range(ROUNDS):
            for name, words in COMMANDS.items():
                began = time.monotonic()
                done = clone.ok(*words, "--host", names)
                load = float(found[1]) if (found := READY.search(done.err)) else 0.0
                title = "first deploy" if number == 0 and name == "deploy" else name
                took.setdefault(title, []).append(time.monotonic() - began - load)
        labs.clean(hosts)
        return {name: statistics.median(seconds) for name, seconds in took.items()}


if __name__ == "__main__":
    main()
