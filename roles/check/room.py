"""Room: disks and inodes, shared memory, memory, limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roles.check.finding import Finding, Node, gib
from roles.check.question import folders_of

FEWEST_MIB, SCARCE_MIB = 64, 1024  # of disk for run files and a log: without the first nothing starts
FEWEST_INODES = 200
SHARED_MIB = 1024  # of /dev/shm when several ranks share a host (NCCL and Gloo keep their rings there)
RANK_MIB = 1024  # of memory for each rank's process before it loads anything
FILES, PROCESSES = 4096, 2048
ENOUGH = 65536  # open files or processes, where one writes a number down
SHIFT = {"as": 10, "fsize": 10}  # ulimit counts these in KiB


def look(node: Node) -> Iterator[Finding]:
    """Everything that can be full."""
    places = node.look("places")
    if not places:
        return
    found = [*_folders(node, places["folders"]), *_memory(node, places["memory"]), *_limits(node, places)]
    yield from found
    if not found:
        work = places["folders"].get(node.node.host.workdir) or {}
        memory = places["memory"].get("available_mib") or 0
        yield node.ok("room", f"{gib(work.get('free_mib') or 0)} of disk, {gib(memory)} of memory are free")


def _folders(node: Node, folders: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    named = folders_of(node.plan, node.node)
    for name, folder in folders.items():
        if name == "/dev/shm":
            yield from _shared(node, folder)
        elif name == "/tmp" or name in named:
            yield from _folder(node, folder)
            yield from _named(node, folder, named.get(name, ""))


def _folder(node: Node, folder: Mapping[str, Any]) -> Iterator[Finding]:
    path = folder["path"]
    if folder.get("error"):
        yield node.refusal("disk", f"{path}: {folder['error']}", "see to it on the host")
        return
    if not folder["writable"]:
        yield node.refusal(
            "disk", f"{path} cannot be written by this login", "correct its owner, or set another `workdir`"
        )
    if folder["free_mib"] < FEWEST_MIB:
        what = f"{path} has {folder['free_mib']} of {folder['total_mib']} MiB free"
        yield node.refusal("disk", what, "free space there (df -h)", f"{FEWEST_MIB} MiB")
    elif folder["free_mib"] < SCARCE_MIB:
        what = f"{path} has only {folder['free_mib']} MiB free"
        yield node.warning("disk", what, "free space there, a log may grow beyond it", f"{SCARCE_MIB} MiB")
    if folder.get("free_inodes") is not None and folder["free_inodes"] < FEWEST_INODES:
        what = f"{path} has {folder['free_inodes']} inodes free"
        yield node.refusal("disk", what, "remove small files there (df -i)", f"{FEWEST_INODES}")


def _named(node: Node, folder: Mapping[str, Any], whose: str) -> Iterator[Finding]:
    """Work folder and log folder are made at the start; nobody makes what a variable or flag names."""
    if folder.get("exists") is False and whose.startswith(("environment.", "flags.")):
        yield node.warning("folders", f"{folder['path']} is not there ({whose})", "inv check --fix, or make it")


def _shared(node: Node, folder: Mapping[str, Any]) -> Iterator[Finding]:
    several = sum(seat.node == node.node.node for seat in node.plan.ranks) > 1
    if several and (folder.get("error") or not folder.get("exists")):
        yield node.refusal("shm", "there is no /dev/shm", "mount a tmpfs there: the ranks of a host talk through it")
    elif several and folder["free_mib"] < SHARED_MIB:
        what = f"/dev/shm has {folder['free_mib']} of {folder['total_mib']} MiB free"
        yield node.warning("shm", what, "mount -o remount,size=16G /dev/shm", f"{SHARED_MIB} MiB")


def _memory(node: Node, memory: Mapping[str, Any]) -> Iterator[Finding]:
    ranks = sum(seat.node == node.node.node for seat in node.plan.ranks)
    for key, whose in (("available_mib", "the host"), ("group_left_mib", "its container (cgroup)")):
        left = memory.get(key)
        if left is not None and left < RANK_MIB * ranks:
            what = f"{whose} has {gib(left)} of memory left for {ranks} ranks"
            yield node.warning("memory", what, "end what else uses it", gib(RANK_MIB * ranks))
    yield from _weights(node, ranks, memory)
    if (pids := memory.get("pids_left")) is not None and pids < PROCESSES:
        what = f"its container may start only {pids} more processes and threads"
        yield node.warning("limits", what, "raise pids.max", str(PROCESSES))


def _weights(node: Node, ranks: int, memory: Mapping[str, Any]) -> Iterator[Finding]:
    """On a CPU the weights are in the host's memory; spread evenly, an estimate."""
    size, layout = node.look("model").get("bytes"), node.plan.profile.layout
    if not size or node.plan.profile.flags.get("device") != "cpu":
        return
    needed = size / 2**20 * ranks / (layout.tp * layout.pp)
    for key, whose in (("available_mib", "the host"), ("group_left_mib", "its container (cgroup)")):
        left = memory.get(key)
        if left is not None and needed > left:
            what = f"the weights take about {gib(needed)} there (an estimate), {whose} has {gib(left)} of memory left"
            yield node.refusal("memory", what, "use a smaller or quantized checkpoint, or more hosts")
            return


def _limits(node: Node, places: Mapping[str, Any]) -> Iterator[Finding]:
    """The hard limits: SGLang raises the soft ones itself as far as they go."""
    limits, liftable = places["limits"], dict(lifted(node))
    for name, least, option in (("nofile", FILES, "-n"), ("nproc", PROCESSES, "-u")):
        hard = limits[name]["hard"]
        if hard is not None and hard < least and not _planned(node, name):
            do = "inv check --fix, or" if name in liftable else ""
            found = f"ulimit {option} is at most {hard}"
            yield node.warning("limits", found, f"{do} raise it in limits.conf".strip(), str(least))
    for name, option in (("as", "-v"), ("fsize", "-f")):
        soft = limits[name]["soft"]
        if soft is not None and not _planned(node, name):
            do = "inv check --fix, or" if name in liftable else ""
            found = f"ulimit {option} is {soft >> 10} KiB"
            yield node.warning("limits", found, f"{do} set it to unlimited in limits.conf".strip(), "unlimited")


def _planned(node: Node, name: str) -> bool:
    """Whether the launch script sets this limit, and may."""
    limit = (node.look("places").get("limits") or {})[name]
    value = node.plan.profile.limits.get(name)  # type: ignore[call-overload]  # any name may be asked for
    if value is None:
        return False
    most = limit["hard"] if value == "unlimited" or limit["hard"] is None else limit["hard"] >> SHIFT.get(name, 0)
    return bool(limit.get("raisable")) or (value != "unlimited" and (most is None or value <= most))


def lifted(node: Node) -> Iterator[tuple[str, int | str]]:
    """Limits that are too low and that the launch script may raise: (name, value for the profile's `limits`)."""
    limits = node.look("places").get("limits") or {}
    for name, least in (("nofile", FILES), ("nproc", PROCESSES)):
        limit = limits.get(name) or {}
        low = limit.get("hard") is not None and limit["hard"] < least
        if low and limit.get("raisable") and not _planned(node, name):
            yield name, ENOUGH
    for name in ("as", "fsize"):
        limit = limits.get(name) or {}
        if limit.get("soft") is not None and limit.get("raisable") and not _planned(node, name):
            yield name, "unlimited"
