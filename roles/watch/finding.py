"""A finding: one sentence and what to do. And the words that the rules share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from roles.watch.case import Case, Seen
from roles.watch.witness import Told, Witness

Level = Literal["bad", "warn", "good"]

IDLE_CPU, IDLE_READ = 0.05, 100_000  # cores; bytes a second: below these a process does nothing
SLACK = 2.0  # seconds by which the stamps of the kernel's log may be off
VERBS = {"R": "runs", "S": "sleeps", "D": "waits in the kernel", "T": "is stopped (state T)"}


@dataclass(frozen=True)
class Finding:
    """`id` names the rule, or the row of the failures."""

    id: str
    level: Level
    sentence: str
    do: str = ""


def kernel(witness: Witness, kind: str) -> list[Told]:
    """The kernel log's lines of a kind since the server was started."""
    started = float(witness.told.get("started") or 0)
    lines = (witness.about.get("kernel") or {}).get("lines") or ()
    return [line for line in lines if line.get("kind") == kind and line["t"] >= started - SLACK]


def doing(row: Told) -> str:
    """What a process does, in words: `sleeps in futex_wait_queue, uses no CPU, reads nothing`."""
    where = None if row.get("state") == "R" else row.get("wchan") or next(iter(row.get("stack") or ()), None)
    verb = VERBS.get(str(row.get("state"))) or f"is in state {row.get('state')}"
    cpu, read = row.get("cpu"), row.get("read_all_rate")
    parts = [f"{verb} in {where}" if where else verb]
    parts += [] if cpu is None else ["uses no CPU" if cpu < IDLE_CPU else f"uses {cpu:.1f} cores"]
    parts += [] if read is None else ["reads nothing" if read < IDLE_READ else f"reads {size(read)}/s"]
    return ", ".join(parts)


def idle(row: Told) -> bool:
    """Neither computing nor reading."""
    return (row.get("cpu") or 0.0) < IDLE_CPU and (row.get("read_all_rate") or 0) < IDLE_READ


def processes(case: Case) -> Iterator[tuple[Witness, Told, str]]:
    """Main and every rank that lives, with the name that people know it by."""
    for witness in case.nodes:
        names = {seen.pid: seen.name for seen in case.ranks if seen.host == witness.host and seen.row}
        for row in witness.rows:
            if row["pid"] in names or row["pid"] == witness.main:
                yield witness, row, names.get(row["pid"], f"main on {witness.host}")


def witness_of(case: Case, seen: Seen) -> Witness:
    """The node of a rank."""
    return next(witness for witness in case.nodes if witness.host == seen.host and witness.node == seen.state.node)


def memory(witness: Witness) -> str:
    """`0 MiB, 34 W` of its GPUs, the highest of each."""
    if not witness.gpus:
        return "no GPU to ask"
    watts = [gpu["power_w"] for gpu in witness.gpus if gpu.get("power_w") is not None]
    used = max(gpu.get("used_mib") or 0 for gpu in witness.gpus)
    return f"{used:,} MiB" + (f", {max(watts)} W" if watts else "")


def size(count: float) -> str:
    """Bytes as people say them."""
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
