"""How long commands take that connect nowhere: `python -m tests.performance.commands [RUNS IN THE LEDGER]`.

`inv --list` is the measure: what a command takes beyond it is ours. User and system time, and wall.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from roles.ledger import Record
from tests.hosts.clone import Clone

ROUNDS = 11
HOST = {"address": "10.0.0.1", "venv": "/root/ml-env", "gpus": 8}
RESULTS = ("up", "stopped", "failed", "lost", "stopped")
COMMANDS = {
    "inv --list": ("--list",),
    "inv show": ("show", "--host", "gpu", "--profile", "tp4pp2"),
    "inv history": ("history",),
    "inv history, all": ("history", "--last", "100000"),
    "inv report": ("report",),
}


def record(number: int) -> Record:
    """One of many runs: five profiles on four hosts, of which some failed."""
    result, profile, host = RESULTS[number % 5], f"tp{number % 5}", f"gpu{number % 4}"
    labels = [f"PP{pp} TP{tp}" for pp in range(2) for tp in range(4)]
    began = 1_790_000_000.0 + 600 * number
    up = result in ("up", "stopped", "lost")
    return Record(
        run=f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}-{profile}-abcd",
        deployment=f"{profile}@{host}",
        profile=profile,
        hosts=(host,),
        by="ada@desk",
        started=began,
        result=result,
        sentence="up: 8 ranks answered" if up else f"PP1 TP3 on {host} died (killed by SIGKILL) while loading weights",
        ended=began + 300,
        stopped=None if result == "up" else began + 400,
        plan_hash=f"{number:016x}",
        up_after=240.0 + number % 60 if up else None,
        cause="" if up else "rank-died",
        rank=None if up else "PP1 TP3",
        host=None if up else host,
        version="0.5.17",
        stages=dict.fromkeys(("start", "distributed", "weights", "memory", "graphs", "http"), 10.0 + number % 7),
        memory_mib=dict.fromkeys(labels, 70_000 + number),
    )


def filled(clone: Clone, runs: int) -> None:
    """The ledger of a checkout that made so many runs."""
    for number in range(runs):
        made = record(number)
        folder = clone.root / "runs" / made.run
        folder.mkdir(parents=True)
        (folder / "record.json").write_text(json.dumps(asdict(made), indent=1))
        for name in ("node0.log", "launch0.sh"):
            (folder / name).write_text("x\n")


def measured(clone: Clone, words: tuple[str, ...]) -> tuple[float, float]:
    """(CPU ms, wall ms) of one command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    clone.ok(*words)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), 1000 * wall


def main(runs: int) -> None:
    """A line for each command, in turn, round after round."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        clone = Clone(Path(folder) / "clone").make().hosts({"gpu": HOST})
        clone.profile("tp4pp2", 30000, model="/models/glm-5", layout={"tp": 4, "pp": 2}, flags={})
        filled(clone, runs)
        found = {name: [(0.0, 0.0)] * 0 for name in COMMANDS}
        for number in range(ROUNDS + 1):
            for name, words in COMMANDS.items():
                sample = measured(clone, words)
                found[name] += [sample] if number else []
        clone.close()
    base, _ = map(statistics.median, zip(*found["inv --list"], strict=True))
    for name, samples in found.items():
        cpu, wall = map(statistics.median, zip(*samples, strict=True))
        print(f"{name}: {cpu:.0f} ms of CPU ({cpu - base:+.0f}), {wall:.0f} ms ({runs} runs in the ledger)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
