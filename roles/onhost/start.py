"""start: files into the run's folder, then the script into a session of its own, once and under the host's lock."""

from __future__ import annotations

import contextlib
import os
import re
import time

from . import cgroup, leases, proc
from .frames import Frames
from .launch import launch
from .over import standing
from .problems import HostError
from .refuse import refuse
from .request import Request
from .state import Home, Run, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from .state import Json

LOCK_WAIT = 20.0  # seconds
NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def start(request: Request, frames: Frames) -> None:
    """Start a run, or answer that this run was started before."""
    home, wanted = Home(request.text("workdir")), _state(request)
    script, secrets = request.text("script").encode("utf-8"), _secrets(request.maybe("secrets", dict) or {})
    with home.lock(f"start of {wanted['run']} by {wanted['who']}", LOCK_WAIT):
        run = Run(home.path, wanted["run"])
        if os.path.exists(run.path("state.json")):
            frames.send("started", **_answer(_same(run.load(), wanted), again=True))
            return
        leases.hold(home, wanted, request.maybe("lease", str))
        refuse(home, wanted)
        os.makedirs(run.folder, mode=0o700, exist_ok=True)
        write(run.path("launch.sh"), script, 0o700)
        write(run.path("secrets.env"), secrets, lasting=bool(secrets))
        run.write("plan.json", request.maybe("plan", dict) or {})
        kept = _link(request.maybe("log_link", str), run.log)
        _launch(run, wanted)
        _replace(home, run)
    frames.send("started", **_answer(run, kept=kept))


def _state(request: Request) -> Json:
    """What is written down of the run. No secret and no argument of the server is in it."""
    return {
        "run": request.run_id(),
        "deployment": request.text("deployment"),
        "profile": request.text("profile", ""),
        "plan_hash": request.text("plan_hash", ""),
        "node": int(request.number("node", 0)),
        "nnodes": int(request.number("nnodes", 1)),
        "hosts": request.many("hosts", str),
        "who": request.text("who", "?"),
        "from": request.text("from", "?"),
        "port": request.maybe("port", int),
        "ports": request.many("ports", int),
        "gpus": request.many("gpus", int),
        "ranks": request.many("ranks", dict),
        "boot": proc.boot_id(),
        "memory": cgroup.mark(os.getpid()),  # the server stays in our group: a kill there can be told from older ones
    }


def _secrets(values: Dict[str, Any]) -> bytes:
    """NAME=value lines that a shell reads back unchanged. Errors name the variable, never its value."""
    import shlex

    lines = []
    for name in sorted(values):
        if not re.fullmatch(NAME, name):
            raise HostError("bad-request", f"secret {name!r}: not a name for an environment variable")
        if not isinstance(values[name], str) or "\0" in values[name]:
            raise HostError("bad-request", f"secret {name}: not a text, or with a zero byte in it")
        lines.append(f"{name}={shlex.quote(values[name])}\n")
    return "".join(lines).encode("utf-8")


def _same(run: Run, wanted: Json) -> Run:
    if run.state["deployment"] != wanted["deployment"]:
        message = f"run {run.id} exists and is of deployment {run.state['deployment']}, not {wanted['deployment']}"
        raise HostError("bad-request", message)
    return run


def _link(link: Optional[str], log: str) -> Optional[str]:
    """Make the link to the run's log. A real file in its place is renamed aside and named, never deleted."""
    if not link:
        return None
    path, kept = os.path.expanduser(link), None
    os.makedirs(os.path.dirname(path) or "/", exist_ok=True)
    if os.path.lexists(path) and not os.path.islink(path):
        if not os.path.isfile(path):
            raise HostError("refused", f"{path} is not a file", "choose another `log` in the profile")
        kept = path + time.strftime(".%Y%m%d-%H%M%S", time.localtime(os.stat(path).st_mtime))
        while os.path.lexists(kept):
            kept += "x"
        os.rename(path, kept)
    beside = f"{path}.{os.getpid()}.new"
    os.symlink(log, beside)
    os.replace(beside, path)
    return kept


def _launch(run: Run, state: Json) -> None:
    def record(pid: int, began: int) -> None:
        run.state = dict(state, started=round(time.time(), 3), leader={"pid": pid, "start": began}, session=pid,
                         log=run.log)  # fmt: skip
        run.add()

    try:
        launch(run.folder, run.path("launch.sh"), run.log, record)
    except BaseException:
        for name in ("state.json", "secrets.env"):
            with contextlib.suppress(OSError):
                os.unlink(run.path(name))
        raise


def _replace(home: Home, run: Run) -> None:
    """Earlier runs of this deployment are dead (or we were refused): close their books."""
    for other in standing(home):
        if other.id != run.id and other.state.get("deployment") == run.state["deployment"]:
            other.add(stopped={"t": round(time.time(), 3), "why": f"replaced by run {run.id}"})


def _answer(run: Run, **more: Any) -> Json:
    answer = {"run": run.id, "leader": run.state["leader"], "session": run.state["session"], "run_dir": run.folder,
              "log": run.log, "started": run.state["started"]}  # fmt: skip
    answer.update({key: value for key, value in more.items() if value})
    return answer
