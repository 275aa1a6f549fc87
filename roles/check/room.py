"""Room: disks and inodes, shared memory, memory, limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roles.check.finding import Finding, Node, gib

FEWEST_MIB, SCARCE_MIB = 64, 1024  # of disk for run files and a log: without the first nothing starts
FEWEST_INODES = 200
SHARED_MIB = 1024  # of /dev/shm when several ranks share a host (NCCL and Gloo keep their rings there)
RANK_MIB = 1024  # of memory for each rank's process before it loads anything
FILES, PROCESSES = 4096, 2048


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
    for name, folder in folders.items():
        if name == "/dev/shm":
            yield from _shared(node, folder)
        elif name in (node.node.host.workdir, "/tmp") or (node.node.log and node.node.log.startswith(name + "/")):
            yield from _folder(node, folder)


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
    if (pids := memory.get("pids_left")) is not None and pids < PROCESSES:
        what = f"its container may start only {pids} more processes and threads"
        yield node.warning("limits", what, "raise pids.max", str(PROCESSES))


def _limits(node: Node, places: Mapping[str, Any]) -> Iterator[Finding]:
    """The hard limits: SGLang raises the soft ones itself as far as they go."""
    limits = places["limits"]
    for name, least, option in (("nofile", FILES, "-n"), ("nproc", PROCESSES, "-u")):
        hard = limits[name]["hard"]
        if hard is not None and hard < least:
            yield node.warning("limits", f"ulimit {option} is at most {hard}", "raise it in limits.conf", str(least))
    for name, option in (("as", "-v"), ("fsize", "-f")):
        soft = limits[name]["soft"]
        if soft is not None:
            yield node.warning("limits", f"ulimit {option} is {soft >> 10} KiB", "set it to unlimited", "unlimited")
