"""Rules about the processes of a server: which is gone, stopped, waiting, silent, and what it is doing."""

from __future__ import annotations

from collections.abc import Iterator

from roles.watch.case import Case, Seen
from roles.watch.finding import Finding, Level, doing, idle, processes, size, witness_of
from roles.watch.stall import WAITS_FOR
from roles.watch.states import Stage
from roles.watch.witness import Witness

SILENT = 120.0  # seconds without a log line from which a loading server is called silent
CONT = "kill -CONT {pid} wakes it; find out who stopped it"
STORAGE = "look at the disk or network storage that it reads (and at dmesg); while it waits there nothing can kill it"


def rank_gone(case: Case) -> Iterator[Finding]:
    """A rank without a process while main lives: SGLang itself may not have noticed."""
    for seen in case.gone if case.alive else ():
        witness = witness_of(case, seen)
        if witness.main is None or not (case.was_up or seen.pid is not None):
            continue
        pid = f" (it was pid {seen.pid})" if seen.pid else ""
        health = witness.told.get("health")
        although = f"health answers {health}, but " if health == 200 else "main lives, but "
        yield Finding("rank-gone", "bad", f"{although}the process of {seen.name} is gone{pid}", "inv logs; then deploy")


def rank_stopped(case: Case) -> Iterator[Finding]:
    """State T or t: nothing in the log, in /health for 20 s or on the GPU shows it."""
    for witness, row, name in processes(case):
        if row.get("state") == "T":
            sentence = f"{name} is stopped by a signal (state T, pid {row['pid']})"
            yield Finding("stopped-process", "bad", sentence, CONT.format(pid=row["pid"]))
        elif row.get("state") == "t" or row.get("tracer"):
            sentence = f"{name} is held by a debugger, pid {row.get('tracer')} on {witness.host} (pid {row['pid']})"
            yield Finding("traced", "warn", sentence, "end the debugger or py-spy")


def rank_waiting(case: Case) -> Iterator[Finding]:
    """State D: it waits in the kernel, for a disk, a network file system or the GPU's driver."""
    for _, row, name in processes(case):
        if row.get("state") == "D":
            where = row.get("wchan") or next(iter(row.get("stack") or ()), "the kernel")
            rate = row.get("read_rate")
            reading = f", reading {size(rate)}/s" if rate else ""
            level: Level = "warn" if rate or row.get("cpu") else "bad"
            sentence = f"{name} waits in the kernel (state D, {where}, pid {row['pid']}{reading})"
            yield Finding("waiting-process", level, sentence, STORAGE)


def frozen(case: Case) -> Iterator[Finding]:
    """Its whole control group is frozen (docker pause, a hibernated container)."""
    for witness in case.nodes:
        group = witness.told.get("memory") or {}
        if group.get("frozen"):
            sentence = f"the control group of the server on {witness.host} is frozen ({group.get('folder')})"
            yield Finding("frozen", "bad", sentence, "docker unpause, lxc-unfreeze, or systemctl thaw")


def orphans(case: Case) -> Iterator[Finding]:
    """Main is gone and some of its children are not."""
    for witness in case.nodes:
        rows = [row for row in witness.rows if str(row.get("title") or "").startswith("sglang::")]
        if witness.main is None and rows:
            names = ", ".join(f"{row['title']} (pid {row['pid']})" for row in rows)
            do = "inv teardown" if case.ours else f"kill {' '.join(str(row['pid']) for row in rows)}"
            sentence = f"main is gone on {witness.host}, but its children live on and hold memory: {names}"
            yield Finding("orphans", "bad", sentence, do)


def compiling(case: Case) -> Iterator[Finding]:
    """A compiler below it: it works, however silent its log is."""
    for witness in case.nodes:
        rows = [row for row in witness.rows if row.get("compiler")]
        if rows:
            what = ", ".join(sorted({str(row["compiler"]) for row in rows}))
            oldest = max(float(row.get("age_s") or 0) for row in rows)
            sentence = f"kernels are being compiled on {witness.host}: {what}, for {oldest:.0f} s"
            yield Finding("compiling", "good", sentence, "wait: the first start with a kernel takes minutes")


def silent(case: Case) -> Iterator[Finding]:
    """Loading, alive, and nothing written for a while: what the silent ones are doing."""
    quiet = [w for w in case.nodes if w.rows and float(w.told.get("log_age") or 0) > SILENT]
    if case.was_up or not quiet:
        return
    for seen in case.ranks:
        witness = witness_of(case, seen)
        if seen.row is None or witness not in quiet or seen.state.stage is Stage.READY:
            continue
        age = float(witness.told["log_age"]) / 60
        at = seen.state.milestone or "its start"
        what = f"its process {doing(seen.row)}{_flat(case, witness, seen)}"
        sentence = f"{seen.name}: log silent for {age:.0f} min since {at}; {what}"
        waits = WAITS_FOR.get(seen.state.stage, "")
        yield Finding(
            "silent", "bad" if idle(seen.row) else "warn", sentence, f"this stage waits for {waits}" if waits else ""
        )


def _flat(case: Case, witness: Witness, seen: Seen) -> str:
    """Its GPU's memory, when that did not change while we looked. Ranks sit on a node's GPUs in order."""
    ranks = [other.state.label for other in case.ranks if other.host == seen.host]
    if len(ranks) != len(witness.gpus):
        return ""
    gpu = witness.gpus[ranks.index(seen.state.label)]
    if gpu.get("used_mib") != gpu.get("before_mib"):
        return ""
    return f", GPU {gpu['index']} stays at {gpu['used_mib']:,} MiB"
