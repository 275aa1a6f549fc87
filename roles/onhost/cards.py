"""The GPUs closer up: capability, driver, power, errors, who has a device open, NUMA nodes, how they are linked."""

from __future__ import annotations

import os
import re

from . import gpu, proc, sockets
from .packages import listing
from .virtual import virtualization

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import Any, Dict, List, Optional

    from .state import Json

FIELDS = ("index", "pci.bus_id", "compute_cap", "driver_version", "power.limit", "power.max_limit",
          "ecc.errors.uncorrected.volatile.total", "mig.mode.current", "temperature.gpu")  # fmt: skip
DEVICE = "/dev/nvidia"
CUDA = r"CUDA (?:UMD )?Version:\s*([\d.]+)"


class Cards:
    """nvidia-smi at work, asked four things at once; read when everything else has been looked at."""

    def __init__(self) -> None:
        self._details = gpu.query("gpu", ",".join(FIELDS))
        program = self._details.args[0] if self._details else None  # type: ignore[index]
        self.there = program is not None
        self._links = _start([program, "topo", "-m"]) if program else None
        self._banner = _start([program]) if program else None
        self._peers = _start([program, "topo", "-p2p", "r"]) if program else None

    def answer(self, runs: List[Json]) -> Json:
        """Everything; `runs`: to tell our own processes from others'."""
        rows, _ = gpu.answer(self._details) if self._details else ([], None)
        nodes = devices()
        banner = _text(self._banner)
        found = re.search(CUDA, banner) if banner else None
        return {
            "details": [_detail(row) for row in rows if len(row) == len(FIELDS)],
            "cuda": found.group(1) if found else None,
            "links": _text(self._links),
            "peers": _text(self._peers),
            "openers": openers(runs) if nodes else [],
            "nodes": nodes,
            "virtualization": virtualization(),
            "iommu": bool(listing("/sys/class/iommu")),
            "numa": numa(),
        }


def _detail(row: List[str]) -> Json:
    told: Json = {field.replace(".", "_"): row[place] for place, field in enumerate(FIELDS)}
    told["numa"] = _numa(row[1])
    return told


def _start(argv: List[Any]) -> "subprocess.Popen[bytes]":
    import subprocess

    return subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, close_fds=True
    )


def _text(asked: Optional["subprocess.Popen[bytes]"]) -> str:
    if asked is None:
        return ""
    import subprocess

    try:
        return asked.communicate(timeout=gpu.PATIENCE)[0].decode("utf-8", "replace")[:20000]
    except subprocess.TimeoutExpired:
        asked.kill()
        return ""


def openers(runs: List[Json], folder: str = "/dev/nvidia") -> List[Json]:
    """Processes that have a GPU's device open. In a container nvidia-smi often lists none of them; /proc does."""
    ours = {row["pid"]: run for run in runs for row in run.get("procs") or []}
    found: List[Json] = []
    for pid in proc.pids():
        indexes = sorted({int(path[len(DEVICE) :]) for path in _open(pid) if _is_device(path)})
        if indexes and pid != os.getpid() and not _is_monitor(pid):
            run = ours.get(pid) or {}
            found.append(
                dict(sockets.describe(pid), indexes=indexes, run=run.get("run"), deployment=run.get("deployment"))
            )
    return found


def _is_device(path: str) -> bool:
    return path.startswith(DEVICE) and path[len(DEVICE) :].isdigit()


def _is_monitor(pid: int) -> bool:
    """nvidia-smi itself, and the daemon that keeps the driver awake, hold no memory."""
    seen = proc.stat(pid)
    return seen is None or seen.comm in ("nvidia-smi", "nvidia-persiste", "dcgm-exporter", "nv-hostengine")


def _open(pid: int) -> List[str]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []
    return [proc.link(pid, "fd/" + name) or "" for name in names]


def devices() -> List[int]:
    """The GPUs whose device this host has: in a container only those that were passed in."""
    return _numbers("/dev", "nvidia")


def _numbers(folder: str, word: str) -> List[int]:
    """Those that follow this word in the names there."""
    ends = [name[len(word) :] for name in listing(folder) if name.startswith(word)]
    return sorted(int(end) for end in ends if end.isdigit())


def _numa(bus: str) -> Optional[int]:
    """The NUMA node of a PCI device: nvidia-smi writes 00000000:3B:00.0, sysfs 0000:3b:00.0; -1 means unknown."""
    domain, _, rest = bus.lower().partition(":")
    text = (proc.read(f"/sys/bus/pci/devices/{domain[-4:]}:{rest}/numa_node") or b"").strip()
    return int(text) if text.isdigit() else None


def numa() -> Dict[str, str]:
    """NUMA node -> its CPU cores."""
    place = "/sys/devices/system/node"
    return {
        str(number): (proc.read(f"{place}/node{number}/cpulist") or b"").decode().strip()
        for number in _numbers(place, "node")
    }
