"""Wall time and this machine's CPU time of deploy, status and teardown on 1, 8, 32 and 64 lab hosts with the stand-in.

Run it by hand: `python -m tests.performance.fleet [HOSTS ...]`. The hosts are on the same machine, and it is their CPUs
too: the figures say how allranks behaves with many hosts, not how fast these hosts are.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from roles.lab.host import LabHost
from tests.hosts import labs
from tests.hosts.clone import Clone, Done

SIZES = (1, 8, 32, 64)
DOWN = 5  # hosts that are switched off among the most
PORT = 31900


def main(sizes: Sequence[int]) -> None:
    """Print a row for each size, then one for the largest with some hosts off."""
    print(f"{os.cpu_count()} CPUs, which the hosts share")
    print("hosts | command | wall s | controller CPU s | exit | up, stopped or answered")
    with labs.made("fleet", max(sizes)) as hosts, tempfile.TemporaryDirectory() as folder:
        clone = Clone(Path(folder) / "clone").make().hosts(hosts).profile("one", PORT, layout={"tp": 1})
        try:
            for size in sizes:
                measure(clone, hosts[:size], str(size))
            for host in hosts[1 :: max(1, len(hosts) // DOWN)][:DOWN]:
                host.crash()
            measure(clone, hosts, f"{len(hosts)}, {DOWN} of them off")
        finally:
            clone.close()


def measure(clone: Clone, hosts: Sequence[LabHost], what: str) -> None:
    """One row for each command."""
    names = ",".join(host.name for host in hosts)
    commands = {
        "deploy": ("deploy", "--profile", "one", "--replicas"),
        "deploy again": ("deploy", "--profile", "one", "--replicas"),
        "status": ("status",),
        "logs": ("logs", "--all"),
        "teardown": ("teardown", "--all"),
    }
    for title, words in commands.items():
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = clone.inv(*words, "--host", names, "--json", timeout=900)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{what} | {title} | {wall:.1f} | {cpu:.1f} | {done.code} | {count(done)}", flush=True)


def count(done: Done) -> str:
    """How many of how many."""
    if done.out.startswith('{"host"'):
        lines = [json.loads(line) for line in done.out.splitlines()]
        silent = sum("no answer" in line.get("note", "") for line in lines)
        return f"{len(lines) - silent} lines, {silent} silent"
    try:
        told = done.json
    except ValueError:
        return done.err.strip()[-200:]
    if "deployments" in told and "of" not in told:
        return f"{sum(row['state'] == 'up' for row in told['deployments'])} up, {len(told['silent'])} silent"
    return f"{told.get('up', told.get('stopped'))} of {told['of']}"


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or SIZES)
