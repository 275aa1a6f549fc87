"""python -m tests.performance.verdicts [ROUNDS]: process death, or fatal line -> the verdict's sentence, in seconds.

The stand-in on one lab host, four ranks that hold while loading; one is killed, or one line is written into the log.
Measured from the kill (the write) to the moment at which the sentence is handed to the screen.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from roles.lab.host import LabHost
from tests.faults.watched import Watched
from tests.hosts import labs, seen
from tests.hosts.clone import Clone, eventually
from tests.hosts.labs import disk

FATAL = (
    "[2026-11-29 12:00:00] ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 31000): taken\n"
)


class Timed(Watched):
    """Remembers when the first sentence came that says why."""

    told = 0.0

    def step(self, text: str) -> None:
        """As an Observer."""
        if not self.told and (" died" in text or "is taken by another process" in text):
            self.told = time.time()
        super().step(text)


def kill(host: LabHost) -> float:
    """kill -9 of any rank."""
    rank = random.choice(["PP0_TP0", "PP0_TP1", "PP1_TP0", "PP1_TP1"])
    return seen.kill(seen.titled(host, f"sglang::scheduler_{rank}"))


def write(host: LabHost) -> float:
    """A line that says why, from the server."""
    (path,) = (disk(host) / ".allranks/runs").glob("*/server.log")
    with path.open("a") as file:
        at = time.time()
        file.write(FATAL)
    return at


def measured(host: LabHost, folder: Path, fault: Callable[[LabHost], float], rounds: int) -> list[float]:
    """The seconds of each round."""
    found = []
    for number in range(rounds):
        clone = Clone(folder / f"{fault.__name__}{number}").make().hosts([host])
        clone.profile("small", 31900, environment={"STANDIN_HOLD": "loading", "STANDIN_PAUSE": "30"})
        timed = Timed(clone.root, "lab", "small")
        eventually(lambda: sum(p.read_text().count("Load weight begin") for p in logs(host)) == 4)
        time.sleep(random.uniform(0.0, 0.5))
        at = fault(host)
        timed.report()
        found.append(timed.told - at)
        labs.clean([host])
    return found


def logs(host: LabHost) -> list[Path]:
    """Of the host's runs."""
    return list((disk(host) / ".allranks/runs").glob("*/server.log"))


def main(rounds: int) -> None:
    """Print median, 95th percentile and worst of each."""
    with labs.made("verdicts", 1) as (host,), tempfile.TemporaryDirectory() as folder:
        for fault in (kill, write):
            found = sorted(measured(host, Path(folder), fault, rounds))
            worst, p95 = found[-1], found[int(0.95 * (rounds - 1))]
            print(f"{fault.__name__}: median {statistics.median(found):.3f} s, p95 {p95:.3f}, worst {worst:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    sys.stdout.flush()
    os._exit(0)
