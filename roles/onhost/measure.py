"""measure: time copies between GPUs and collectives over them, on GPUs that nobody uses; leaves nothing behind.

One frame `measuring` for each step, then `measured`. It ends early when the client does, or says anything.
"""

from __future__ import annotations

import shutil
import tempfile
import time

from . import cards, gpu, sockets
from .frames import Frames
from .lease import under_lease
from .measuring import COPY, SIZES, repeats
from .problems import HostError
from .refuse import refuse
from .request import Lines, Request
from .state import Home
from .status import summaries
from .team import Team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from .state import Json

NAME = "inv topo --measure"  # what its lease is named after
BASELINE_MIB = 2048  # of a GPU that may be in use without anybody being named
BEAT_EVERY = 5.0  # seconds


def measure(request: Request, frames: Frames, lines: Lines) -> None:
    """Measure as the request says: python, environment, device, gpus (one for each rank), groups, limit (seconds)."""
    home, device = Home(request.text("workdir")), request.text("device")
    gpus: List[int] = request.many("gpus", int) if device == "cuda" else []
    world, limit = int(request.number("world")), request.number("limit", 300)
    with under_lease(home, request, {"deployment": NAME, "gpus": gpus, "ports": []}, ttl=limit + 30):
        if device == "cuda":
            _there(gpus)
            if not request.flag("anyway", False):
                _unused(home, gpus)
        home.make()
        folder = tempfile.mkdtemp(prefix="measure-", dir=home.path)
        asked = {"device": device, "world": world, "folder": folder, "groups": request.many("groups", dict)}
        team = None
        try:
            team = Team(request.text("python"), _environment(request, gpus), asked)
            told = _follow(team, frames, lines, limit)
        finally:
            if team:
                team.end()
            shutil.rmtree(folder, ignore_errors=True)
    frames.send("measured", device=device, gpus=gpus, world=world, sizes=list(SIZES), copy=COPY,
                repeats=[repeats(size) for size in SIZES], **told)  # fmt: skip


def _environment(request: Request, gpus: List[int]) -> Dict[str, str]:
    """The plan's variables; the GPUs in its order, counted as nvidia-smi does."""
    planned = {str(name): str(value) for name, value in (request.maybe("environment", dict) or {}).items()}
    if gpus:
        planned.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        planned.setdefault("CUDA_VISIBLE_DEVICES", ",".join(map(str, gpus)))
    return planned


def _there(gpus: List[int]) -> None:
    found, error = gpu.gpus(gpu.ask_gpus())
    lacking = sorted(set(gpus) - {row["index"] for row in found})
    if lacking or not gpus:
        what = f"GPU {', '.join(map(str, lacking))} is not there" if found and lacking else "there are no GPUs"
        raise HostError("refused", what + f" ({error or 'nvidia-smi lists ' + str(len(found))})",
                        "a profile with flags.device: cpu measures Gloo between processes instead")  # fmt: skip


def _unused(home: Home, gpus: List[int]) -> None:
    """Raises: HostError naming who uses one of them."""
    refuse(home, {"deployment": "", "gpus": gpus, "ports": []})
    asked = gpu.ask_gpus(), gpu.ask_holders()
    found, _ = gpu.gpus(asked[0])
    rows = [dict(sockets.describe(row["pid"]), **row) for row in gpu.holders(asked[1], found)]
    who = [(row["index"], row) for row in rows]
    who += [(index, row) for row in cards.openers(summaries(home)) for index in row["indexes"]]
    for index, row in who:
        if index in gpus:
            raise _used(index, f"pid {row['pid']} of {row['user']}: {row['cmdline']}")
    for row in found:
        if row["index"] in gpus and (row["used_mib"] or 0) > BASELINE_MIB:
            raise _used(row["index"], f"a process that is not seen from here ({row['used_mib']} MiB)")


def _used(index: int, by: str) -> HostError:
    return HostError("refused", f"GPU {index} is in use by {by}", "end it, or measure beside it: --anyway")


def _follow(team: Team, frames: Frames, lines: Lines, limit: float) -> Json:
    """The team's answers, to its end. Raises: HostError (failed, too slow), BrokenPipeError (the client has gone)."""
    told: Dict[str, Any] = {"about": {}, "copies": [], "groups": []}
    began, beat, at = time.monotonic(), time.monotonic(), "starting torch"
    while True:
        if lines.next(wait=0.5, wake=team.out) is not None or lines.closed:
            raise BrokenPipeError
        for row in team.read():
            at = row["step"]
            if at == "end":
                return dict(told, seconds=round(time.monotonic() - began, 1))
            frames.send("measuring", step=at, seconds=round(time.monotonic() - began, 1))
            told["about"] = row.get("about") or told["about"]
            told["copies"] += row.get("copies") or []
            told["groups"] += [row["group"]] if "group" in row else []
        team.check()
        now = time.monotonic()
        if now - began > limit:
            what = f"the measurement was not done within {limit:.0f} s (last: {at}) and was ended"
            raise HostError("internal", what, "give it longer (--limit), or see where it waits (NCCL_DEBUG: INFO)")
        if now - beat > BEAT_EVERY:
            beat = now
            frames.send("beat")
