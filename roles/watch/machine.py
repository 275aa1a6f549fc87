"""Rules about the machine below a server: its memory, its disk, its GPUs, what the kernel says."""

from __future__ import annotations

from collections.abc import Iterator

from roles.watch.case import Case
from roles.watch.finding import Finding, kernel
from roles.watch.witness import Told, Witness

FULL = 16  # MiB left on a file system that count as none
AROUND = 5.0  # seconds between a kill and its victim's end: main may take that long to notice
NAMES = ("sglang", "python", "pt_main")  # what the kernel calls the processes of a server
NEAR = 0.97  # of a memory limit
HELD = 1000  # MiB on a GPU that somebody must be using
HIDDEN = "somebody else's, or of a process in another container: nvidia-smi on the machine itself tells"
MEMORY = "give the host or its control group more memory, or load less at once; GPU memory is another thing"


def out_of_memory(case: Case) -> Iterator[Finding]:
    """The kernel killed for lack of memory: proven by its log or by the group's counter, never by a status of 137."""
    for witness in case.nodes:
        lines = [line for line in kernel(witness, "oom") if _whose(case, witness, line)]
        for line in lines:
            sentence = f"the kernel killed {_whose(case, witness, line)} for lack of memory: {line['text']}"
            yield Finding("oom-kill", "bad", sentence, MEMORY)
        kills = witness.told.get("oom_kills")
        if kills and not lines:
            group = witness.told.get("memory") or {}
            limit = f" (limit {group['limit_mib']:,} MiB)" if group.get("limit_mib") else ""
            where = f"the control group of the server on {witness.host}{limit}"
            sentence = f"the kernel killed for lack of memory: {kills} since the start in {where}, by its own count"
            yield Finding("oom-kill", "bad", sentence, MEMORY)


def _whose(case: Case, witness: Witness, line: Told) -> str:
    """Whom of this server a kernel's kill hit; empty when none of them. In a container the pid may be another one."""
    pid, name = line.get("pid"), str(line.get("name") or "")
    for seen in case.ranks:
        if seen.host == witness.host and seen.pid == pid:
            return seen.name
    if pid and pid == (witness.told.get("crash") or {}).get("pid"):
        return f"main on {witness.host}"
    ended = (witness.told.get("crash") or {}).get("t") or witness.told.get("ended")
    at_its_end = ended is not None and abs(float(ended) - line["t"]) < AROUND and bool(case.gone or not case.alive)
    return f"{name}, of this server by its name and time," if at_its_end and name.startswith(NAMES) else ""


def tight(case: Case) -> Iterator[Finding]:
    """Near its group's memory limit."""
    for witness in case.nodes:
        group = witness.told.get("memory") or {}
        used, limit = group.get("used_mib"), group.get("limit_mib")
        if witness.rows and used and limit and used > NEAR * limit:
            sentence = f"its control group on {witness.host} uses {used:,} of {limit:,} MiB"
            yield Finding(
                "memory-tight", "warn", sentence, "page cache counts too; an out-of-memory kill is near if it does not"
            )


def gpu_errors(case: Case) -> Iterator[Finding]:
    """What the GPU's driver wrote into the kernel's log since the start."""
    for witness in case.nodes:
        for line in kernel(witness, "xid"):
            sentence = f"GPU error (Xid {line.get('number')}) on {witness.host}: {line['text']}"
            yield Finding(
                "xid", "bad", sentence, "look the number up in NVIDIA's Xid catalogue; 48 and 79 mean the card"
            )


def full(case: Case) -> Iterator[Finding]:
    """The log's file system is full: the log ends where it became so."""
    for witness in case.nodes:
        free = witness.told.get("log_free_mib")
        if free is not None and free < FULL:
            sentence = f"the file system of the log on {witness.host} is full ({free} MiB free): the log ends there"
            yield Finding("disk-full", "bad", sentence, f"free space below {witness.told.get('log')}")


def held_memory(case: Case) -> Iterator[Finding]:
    """GPU memory in use though no process of it lives."""
    for witness in case.nodes:
        held = [gpu for gpu in witness.gpus if (gpu.get("used_mib") or 0) > HELD]
        if case.ours and not witness.rows and held:
            what = ", ".join(f"GPU {gpu['index']} {gpu['used_mib']:,} MiB" for gpu in held)
            sentence = f"no process of it lives on {witness.host}, but memory is in use: {what}"
            yield Finding("memory-held", "warn", sentence, HIDDEN)
