"""status: every run that was started and not stopped, as it stands now; forget: a stopped run's folder away."""

from __future__ import annotations

import contextlib
import os
import threading

from . import gpu, sockets
from .frames import Frames
from .over import standing
from .problems import HostError
from .record import crash, note
from .request import Request
from .session import Session
from .state import Home, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from .state import Json

TOLD = ("run", "deployment", "profile", "plan_hash", "node", "nnodes", "hosts", "who", "from", "started", "stopped")


def summary(run: Run) -> Json:
    """One run in a frame's fields."""
    if not run.state:
        return {"run": run.id, "deployment": "?", "profile": "?", "damaged": True, "alive": False, "procs": []}
    session = Session(run)
    session.look()
    if not run.state.get("stopped"):
        with contextlib.suppress(OSError):
            note(session)
    main, log, plan = session.main(), run.log, run.read("plan.json")
    told: Dict[str, Any] = {key: run.state.get(key) for key in TOLD}
    told.update(
        up=run.read("up.json").get("t"),
        alive=bool(main or session.leader()),
        main=main.stat.pid if main else None,
        procs=[p.row() for p in session.processes],
        ranks=[{key: seat[key] for key in ("label", "title", "pid", "alive")} for seat in session.ranks()],
        exit=run.exit_code(),
        port=_port(run.state.get("port"), session),
        gpus=run.state.get("gpus") or [],
        timeouts=plan.get("timeouts"),
        probe_address=plan.get("probe_address"),
        log=log,
        log_bytes=os.stat(log).st_size if os.path.exists(log) else None,
        crash=crash(session),
        rebooted=session.rebooted,
        health=None,
    )
    return told


def _port(port: Optional[int], session: Session) -> Optional[Json]:
    if not port:
        return None
    ours = [p.stat.pid for p in session.alive()]
    held = sockets.holder(port, ours)
    if held:
        held["ours"] = held["pid"] in ours
    return {"port": port, "holder": held}


def summaries(home: Home, everything: bool = False, only: Optional[str] = None) -> List[Json]:
    """All runs not stopped (or all, or this one), oldest first."""
    runs = [home.run(only)] if only else home.runs() if everything else standing(home)
    return [summary(run) for run in runs]


def status(request: Request, frames: Frames) -> None:
    """One frame for each run; with `health`, each server is asked too, all at once."""
    home = Home(request.text("workdir"))
    found = summaries(home, request.flag("all", False), request.maybe("run", str) and request.run_id())
    asked = gpu.ask_gpus() if request.flag("gpus", False) else None
    threads = [threading.Thread(target=_health, args=(home, told)) for told in found if request.flag("health", False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = gpu.gpus(asked)[0] if asked else []
    for told in found:
        if request.flag("plan", False):
            told["plan"] = Run(home.path, told["run"]).read("plan.json")
        if rows:
            told["gpu_memory"] = [row for row in rows if row["index"] in told.get("gpus", ())]
        frames.send("run", **told)


def _health(home: Home, told: Json) -> None:
    """Ask /health where the port is ours: somebody else's 200 would say nothing.

    Not where a rank is dead: that is the answer already, and SGLang would take 20 s to say 503.
    """
    from .server_http import Server  # slow to import, and seldom asked for

    port = told.get("port") or {}
    whole = not told.get("crash") and all(seat["alive"] for seat in told.get("ranks") or ())
    if whole and (port.get("holder") or {}).get("ours"):
        address = told.get("probe_address") or "127.0.0.1"
        told["health"] = Server(address, port["port"]).health(25.0)[0]
        if told.get("profile") == "router":
            from .router import Router

            told["workers"] = Router(home.run(told["run"]), port["port"]).workers()


def forget(request: Request, frames: Frames) -> None:
    """Remove a run's folder but for its log (`log`: false removes that too). Refuses while anything of it lives."""
    run = Home(request.text("workdir")).run(request.run_id())
    session = Session(run)
    session.look()
    if session.alive():
        raise HostError("refused", f"run {run.id} is still running", "stop it first")
    for name in sorted(os.listdir(run.folder)):
        if name != os.path.basename(run.log) or not request.flag("log", True):
            os.unlink(run.path(name))
    with contextlib.suppress(OSError):  # the log is still in it
        os.rmdir(run.folder)
    frames.send("forgotten", run=run.id)
