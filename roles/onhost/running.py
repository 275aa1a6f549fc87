"""running: what a run's server was really given and what it says it uses: argv, environment, effective settings."""

from __future__ import annotations

import re

from . import proc
from .frames import Frames
from .probe import api_key
from .problems import HostError
from .request import Request
from .server_http import Server
from .session import Session
from .state import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

# Variables beside the plan's that change what a server does.
STEERING = re.compile(r"(NCCL|GLOO|SGLANG|SGL|CUDA|HF|TORCH|TRITON|OMP|MKL)_|(https?|all|no)_proxy|LD_|PYTHON", re.I)


def running(request: Request, frames: Frames) -> None:
    """Answer with one frame; `settings` is None with an error where the server does not answer."""
    run = Home(request.text("workdir")).run(request.text("run"))
    session = Session(run)
    session.look()
    main = session.main()
    if main is None:
        raise HostError("missing", f"the server of run {run.id} does not run any more", "see inv status")
    settings, version, error = None, None, None
    port = request.maybe("port", int)
    if port:
        server = Server(request.text("address", "127.0.0.1"), port, api_key(run))
        settings, version, error = server.settings()
    argv = _words(proc.read(f"/proc/{main.stat.pid}/cmdline"))
    frames.send(
        "running",
        run=run.id,
        deployment=run.state.get("deployment"),
        plan_hash=run.state.get("plan_hash"),
        pid=main.stat.pid,
        argv=proc.redact(argv),
        **_environ(main.stat.pid, request.many("names", str), request.many("secrets", str)),
        settings=settings,
        version=version,
        error=error,
    )


def _words(raw: object) -> List[str]:
    return [word.decode("utf-8", "replace") for word in raw.split(b"\0")[:-1]] if isinstance(raw, bytes) else []


def _environ(pid: int, names: List[str], secrets: List[str]) -> Dict[str, Any]:
    """The planned variables, and others that steer a server; those that look like secrets are named without a value.

    Of `secrets`, whatever they are called, only which are there.
    """
    pairs = (word.partition("=") for word in _words(proc.read(f"/proc/{pid}/environ")))
    has = {name: value for name, _, value in pairs}
    told = {name: value for name, value in has.items()
            if name not in secrets and (name in names or STEERING.match(name))}  # fmt: skip
    hidden = {name: "***" for name in told if re.match(proc.SECRET_FLAG, "--" + name) and name not in names}
    return {"environ": {**told, **hidden}, "secrets": [name for name in secrets if name in has]}
