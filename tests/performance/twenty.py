"""The real SGLang over two lab hosts, again and again: deploy, generate, follow both logs, teardown; what is left?

Run it by hand: `python -m tests.performance.twenty --rounds 20 --out rounds.jsonl --seconds 200`. It ends after so many
seconds at the latest with the round it is in, and goes on from its file when it is run again; then it prints the table.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roles.lab.host import LabHost
from tests.hosts import labs
from tests.hosts.clone import Clone, Lines
from tests.hosts.leftovers import leftovers, since
from tests.sglang.real import OPT, UP, generated, with_profiles

PAIR = ("--host", "lab1,lab2", "--profile", "tiny-2node")
PORT = 31020
MOMENT = 2.0  # seconds after the command in which its program on the hosts may end
STEPS = ("deploy", "generation", "follow", "teardown")


def main() -> None:
    """Rounds until there are enough, or the time is over; then the table of all that were made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--out", type=Path, default=Path("rounds.jsonl"))
    asked = parser.parse_args()
    end = time.monotonic() + asked.seconds
    with labs.made("twenty", 2, opt=OPT) as hosts, tempfile.TemporaryDirectory() as folder:
        clone = with_profiles(Clone(Path(folder) / "clone").make().hosts(hosts))
        try:
            while len(rows(asked.out)) < asked.rounds and time.monotonic() < end:
                row = one(clone, hosts)
                with asked.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        finally:
            clone.close()
    print(table(rows(asked.out)))


def one(clone: Clone, hosts: Sequence[LabHost]) -> dict[str, Any]:
    """One round: seconds of each step, and what is left on each host afterwards."""
    took: dict[str, float] = {}

    def step(name: str, began: float) -> None:
        took[name] = round(time.monotonic() - began, 2)

    before = [leftovers(host) for host in hosts]
    began = time.monotonic()
    clone.ok("deploy", *PAIR, timeout=UP)
    step("deploy", began)
    began = time.monotonic()
    tokens = generated(hosts[0], PORT)["usage"]["completion_tokens"]
    step("generation", began)
    began = time.monotonic()
    follow_both(clone, hosts)
    step("follow", began)
    began = time.monotonic()
    clone.ok("teardown", timeout=120)
    step("teardown", began)
    time.sleep(MOMENT)
    left = [since(was, leftovers(host)) for was, host in zip(before, hosts, strict=True)]
    return {**took, "tokens": tokens, "left": left}


def follow_both(clone: Clone, hosts: Sequence[LabHost]) -> None:
    """`logs --follow` until a new line of each host has come, then Ctrl-C."""
    following = clone.start("logs", "--follow", "--lines", "1")
    lines = Lines(following)
    lines.next()
    generated(hosts[0], PORT)  # each stage says that it has a batch
    heard = {lines.next().split()[0]}
    while heard != {"lab1", "lab2"}:
        heard.add(lines.next().split()[0])
    os.killpg(following.pid, signal.SIGINT)
    following.wait(20)


def rows(file: Path) -> list[dict[str, Any]]:
    """The rounds that were made."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def table(made: Sequence[dict[str, Any]]) -> str:
    """A row for each step (seconds), then what was left in all rounds together."""
    lines = [f"{len(made)} rounds", "step | median s | fewest | most"]
    for name in STEPS:
        seconds = [row[name] for row in made]
        lines.append(f"{name} | {statistics.median(seconds):.1f} | {min(seconds):.1f} | {max(seconds):.1f}")
    left = [host for row in made for host in row["left"]]
    lines.append("left on both hosts, all rounds: " + ", ".join(f"{sum(len(h[k]) for h in left)} {k}" for k in left[0]))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
