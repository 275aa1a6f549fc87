"""Many logs followed at once: is a line lost, and what does it cost?

`python -m tests.performance.follow [HOSTS] [LINES A SECOND]`.
Each lab host runs a server that only writes numbered lines of a real log, at that rate; each is followed, folded into
its board and copied as `inv deploy` does it. Prints CPU and memory, here and of the program on the hosts.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

from roles.lab.host import LabHost
from roles.plan import plan_for
from roles.remote import each
from roles.server.confirm import board_for
from roles.server.deployment import Deployment
from roles.server.following import Following
from roles.server.run import Run, new_id
from roles.watch import Watcher
from tests.hosts import labs, seen
from tests.performance import plain

SECONDS = 30
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
SERVER = """#!/bin/sh
[ "$2" = sglang.launch_server ] || { cat >/dev/null; echo '{"error": null, "halves": {}}'; exit; }
exec python3 -I -S /root/server/writer.py
"""
WRITER = """
import os, time
rate, seconds = int(os.environ["RATE"]), float(os.environ["LASTS"])
line = time.strftime("[%Y-%m-%d %H:%M:%S] ") + (
    "Decode batch, #running-req: 8, #token: 8192, token usage: 0.12, cuda graph: True, gen throughput (token/s): 900, "
    "#queue-req: 0, line %d\\n")
began, said = time.monotonic(), 0
while time.monotonic() - began < seconds:
    due = int((time.monotonic() - began) * rate)
    os.write(1, "".join(line % n for n in range(said, due)).encode())
    said = due
    time.sleep(0.05)
"""


class Quiet:
    """An observer that shows nothing."""

    def step(self, text: str) -> None: ...

    def board(self, *_: object) -> None: ...


class Followed:
    """One host's deployment, followed until its server has ended."""

    def __init__(self, root: Path, lab: LabHost, rate: int) -> None:
        from roles.inventory import load

        wanted = [f"environment.RATE={rate}", f"environment.LASTS={SECONDS}"]
        self.lab = lab
        self.plan = plan_for(load(root).profile("bench", wanted), [plain.host_of(lab)])
        self.folder = root / "logs" / lab.name
        self.folder.mkdir(parents=True)

    def __call__(self) -> str:
        """How many lines came, or what is wrong with them."""
        with Deployment(self.plan) as deployment:
            deployment.lease.facts(deployment.facts, lambda _: None)
            run = Run(new_id(self.plan, time.time()), self.plan, time.time())
            deployment.start(run, {})
            request = {**run.follow_request(self.plan.nodes[0]), "probe": None, "lease": deployment.lease.id}
            watcher = Watcher(board_for(run))
            with Following(watcher, [(0, deployment.remotes[0], request)], Quiet(), self.folder) as following:
                for _ in following.changes():
                    watcher.verdict(time.time())
                    if watcher.board.nodes[0].exited:
                        break
        numbers = [int(n) for n in re.findall(r"line (\d+)$", (self.folder / "node0.log").read_text(), re.M)]
        written = (labs.disk(self.lab) / f".allranks/runs/{run.id}/server.log").read_text().count("line ")
        whole = numbers == list(range(written))
        return f"{len(numbers)}" if whole else f"LOST: {len(numbers)} of {written}"


def costs(labs_: list[LabHost]) -> list[tuple[float, float]]:
    """(CPU seconds, MiB) of the on-host program on each host, as this machine's kernel counts them."""
    found = []
    for lab in labs_:
        for pid, argv in seen.processes(lab).items():
            if any("onhost-" in word for word in argv):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                found.append(((int(fields[11]) + int(fields[12])) / TICKS, int(fields[21]) * PAGE / 2**20))
    return found


def resident() -> float:
    """MiB of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 2**20


def main(hosts: int, rate: int) -> None:
    """Follow them all, and look at the costs twice: early, and near the end."""
    with labs.made("follow", hosts) as found, tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        plain.inventory(root)
        each(found, lambda lab: plain.furnished(lab, SERVER, **{"writer.py": WRITER}))
        jobs = [Followed(root, lab, rate) for lab in found]
        told: list[str] = []
        work = threading.Thread(
            target=lambda: told.extend(o.unwrap() for o in each(jobs, lambda j: j(), parallel=hosts))
        )
        work.start()
        time.sleep(SECONDS / 3)
        early = time.monotonic(), time.process_time(), resident(), costs(found)
        time.sleep(SECONDS / 2)
        late = time.monotonic(), time.process_time(), resident(), costs(found)
        work.join()
    took = late[0] - early[0]
    there = [100 * (b[0] - a[0]) / took for a, b in zip(early[3], late[3], strict=False)]
    print(f"{hosts} hosts x {rate} lines/s for {SECONDS} s: {len([t for t in told if t.isdigit()])} of {hosts} whole")
    print(*(line for line in told if not line.isdigit()), sep="\n")
    print(f"lines: {sum(int(t) for t in told if t.isdigit())}")
    print(f"here: {(late[1] - early[1]) / took:.2f} of a core, {early[2]:.0f} MiB, later {late[2]:.0f} MiB")
    print(f"on a host: {sum(there) / len(there):.1f} % of a core, {max(m for _, m in late[3]):.0f} MiB")


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    main(*(words + [32, 2000][len(words) :]))
