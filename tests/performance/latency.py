"""How long from the ready line to the screen, and from the last process to a teardown's end.

`python -m tests.performance.latency [ROUNDS]`; deaths and failures are timed by verdicts.py. One lab host of this
machine with the stand-in server, `inv` run as an operator runs it, both clocks the same one.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from roles.lab.host import LabHost
from tests.hosts import labs, seen
from tests.hosts.clone import Clone, eventually

PORT = 31930
DEPLOY = ("deploy", "--host", "lab1", "--profile", "small")


class Printed:
    """When each line of a running command came, on either stream."""

    def __init__(self, clone: Clone, *words: str) -> None:
        self.process = clone.start(*words)
        self.lines: list[tuple[float, str]] = []
        for stream in (self.process.stdout, self.process.stderr):
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: Iterator[str]) -> None:
        for line in stream:
            self.lines.append((time.time(), line))

    def when(self, *words: str) -> float:
        """The moment of the first line with one of these words."""
        return eventually(lambda: next((at for at, line in self.lines if any(w in line for w in words)), 0.0), 60.0)


def ready_line(clone: Clone, host: LabHost) -> float:
    """The ready line in the log, all else being true already -> the change on the screen."""
    clone.profile("small", PORT, environment={"STANDIN_HOLD": "word", "STANDIN_SECONDS": "0"})
    go = labs.disk(host) / f"go-{PORT}"
    go.unlink(missing_ok=True)
    printed = Printed(clone, *DEPLOY)
    printed.when("generation: 200")
    (log,) = (path for path in labs.disk(host).glob(".allranks/runs/*/server.log") if live(host, path))
    go.touch()
    eventually(lambda: "ready to roll" in log.read_text())
    written = log.stat().st_mtime
    seen_at = printed.when("ready line")
    printed.process.wait(30)
    clone.ok("teardown")
    return seen_at - written


def live(host: LabHost, log: Path) -> bool:
    """Is it the log of the run that stands now?"""
    return log.parent.name in max(p.parent.name for p in labs.disk(host).glob(".allranks/runs/*/server.log"))


def teardown(clone: Clone, host: LabHost) -> float:
    """The last process of the server gone -> the command's end."""
    clone.profile("small", PORT, environment={"STANDIN_SECONDS": "0"})
    clone.ok(*DEPLOY)
    pids = [pid for pid, argv in seen.processes(host).items() if argv in seen.servers(host)]
    printed = Printed(clone, "teardown")
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.001)
    gone = time.time()
    printed.process.wait(60)
    return time.time() - gone


def main(rounds: int) -> None:
    """A line for each kind."""
    kinds: dict[str, Callable[[Clone, LabHost], float]] = {
        "ready line -> up": ready_line,
        "last process gone -> end of teardown": teardown,
    }
    with labs.made("latency", 1) as (host,), tempfile.TemporaryDirectory() as folder:
        clone = Clone(Path(folder) / "clone").make().hosts([host])
        try:
            for kind, take in kinds.items():
                found = sorted(1000 * take(clone, host) for _ in range(rounds))
                print(
                    f"{kind}: median {statistics.median(found):.0f} ms, worst {found[-1]:.0f} ms of {rounds}",
                    flush=True,
                )
        finally:
            clone.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
