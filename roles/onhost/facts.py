"""facts: one quick look at a host, before anything is changed there."""

from __future__ import annotations

import os
import re

from . import gpu, proc, sockets
from .frames import Frames
from .hello import greeting
from .lease import asked_with_facts
from .packages import sites, versions
from .programs import which
from .request import Request
from .state import Home
from .status import summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from .state import Json

SETTING = r"(?m)^\s*(#?)\s*KillUserProcesses\s*=\s*(\S+)"
LOGIND = ("/usr/lib/systemd/logind.conf", "/etc/systemd/logind.conf", "/usr/lib/systemd/logind.conf.d/*.conf",
          "/run/systemd/logind.conf.d/*.conf", "/etc/systemd/logind.conf.d/*.conf")  # fmt: skip


def facts(request: Request, frames: Frames) -> None:
    """Answer with everything a plan is held against. nvidia-smi works while the rest is read."""
    wants_gpus = request.flag("gpus", True)
    asked = (gpu.ask_gpus(), gpu.ask_holders()) if wants_gpus else (None, None)
    home, uid = Home(request.text("workdir")), os.getuid()
    lease = asked_with_facts(home, request)
    venv = _venv(request.maybe("venv", str), request.maybe("python", str), request.maybe("pythonpath", str))
    closer = _closer(home, request.maybe("look", dict), venv)
    runs = summaries(home)
    told: Dict[str, Any] = dict(
        greeting(),
        uid=uid,
        user=sockets.user_name(uid),
        kernel=os.uname().release,
        arch=os.uname().machine,
        workdir=home.path,
        ports={str(port): {"holder": _holder(port, runs)} for port in request.many("ports", int)},
        venv=venv,
        models={path: os.path.exists(os.path.expanduser(path)) for path in request.many("models", str)},
        disk_free_mib=_free(home.path),
        shm_free_mib=_free("/dev/shm"),
        mem_available_mib=proc.memory(b"MemAvailable:"),
        bash=bool(which("bash") or os.path.exists("/bin/bash")),
        kill_user_processes=kills_user_processes(int(os.environ.get("SUDO_UID") or uid)),  # the login's, not root's
        runs=runs,
        lease=lease,
    )
    told["gpus"], error = gpu.gpus(asked[0])
    told["gpu_holders"] = [_named(row, runs) for row in gpu.holders(asked[1], told["gpus"])]
    if error:
        told["gpu_error"] = error
    if closer:
        told["look"] = closer.answer(runs)
    frames.send("facts", **told)


def _closer(home: Home, asked: Optional[Json], venv: Optional[Json]) -> Any:
    """The closer look that a check asks for; other facts do without its modules."""
    if asked is None:
        return None
    from .look import Look

    return Look(home, Request(asked), venv["sglang"] if venv else None)


def _whose(pid: Optional[int], runs: List[Json]) -> Json:
    for run in runs:
        if pid and pid in [row["pid"] for row in run["procs"]]:
            return {"run": run["run"], "deployment": run["deployment"]}
    return {"run": None, "deployment": None}


def _holder(port: int, runs: List[Json]) -> Optional[Json]:
    held = sockets.holder(port)
    return held and dict(held, **_whose(held["pid"], runs))


def _named(row: Json, runs: List[Json]) -> Json:
    return dict(sockets.describe(row["pid"]), **row, **_whose(row["pid"], runs))


# Finds SGLang as the server's Python would, also beside PYTHONPATH and in a source checkout, without importing it.
FIND = """
import importlib.metadata, importlib.util
if importlib.util.find_spec("sglang"):
    try:
        print(importlib.metadata.version("sglang"))
    except importlib.metadata.PackageNotFoundError:
        print("unknown")
"""


def _found(program: str, pythonpath: Optional[str]) -> Optional[str]:
    """The version of the SGLang that this Python finds, "unknown" where it has none, None when there is no SGLang."""
    import subprocess

    env = dict(os.environ, PYTHONPATH=pythonpath) if pythonpath else None
    try:
        done = subprocess.run(
            [program, "-c", FIND], check=False, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else None


def _venv(venv: Optional[str], python: Optional[str], pythonpath: Optional[str]) -> Optional[Json]:
    """Is SGLang there? Read from the name of its dist-info folder; where there is none, Python is asked (50 ms)."""
    if not venv and not (python and "/" in python):
        program = which(python or "python3")
        return {"python": program, "exists": True, "sglang": _found(program, pythonpath)} if program else None
    program = os.path.expanduser(python or os.path.join(venv or "", "bin", "python"))
    root = os.path.expanduser(venv) if venv else os.path.dirname(os.path.dirname(program))
    found = [version for site in sorted(sites(root)) for version in versions(site, "sglang")]
    version = found[-1] if found else None
    there = os.access(program, os.X_OK)
    return {"python": program, "exists": there, "sglang": version or (_found(program, pythonpath) if there else None)}


def _free(path: str) -> Optional[int]:
    """MiB that an ordinary user may still write there, asked of the nearest folder that exists."""
    while not os.path.exists(path) and path != "/":
        path = os.path.dirname(path)
    try:
        seen = os.statvfs(path)
    except OSError:
        return None
    return seen.f_bavail * seen.f_frsize >> 20


def kills_user_processes(uid: int) -> Optional[bool]:
    """Would systemd end our server when the login ends? None: its setting cannot be told."""
    if not os.path.isdir("/run/systemd/system") or uid == 0:  # root is excluded unless told otherwise
        return False
    if os.path.exists(f"/var/lib/systemd/linger/{sockets.user_name(uid)}"):
        return False
    import glob  # only here, for an ordinary user: 0.4 ms

    answer: Optional[bool] = None
    for path in [path for pattern in LOGIND for path in sorted(glob.glob(pattern))]:
        for off, value in re.findall(SETTING, (proc.read(path) or b"").decode("utf-8", "replace")):
            if not off or answer is None:  # the line left in as a comment shows what the default is
                answer = value.lower() in ("yes", "true", "1", "on")
    return answer
