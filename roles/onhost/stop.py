"""stop: SIGTERM to main alone, time to finish, then SIGKILL to what is left of the session, until nothing is.

Main alone, because SGLang takes a SIGTERM to its whole group for a crash of its schedulers.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from . import leases, proc, sockets
from .belongings import held, remove
from .ending import Stop
from .frames import Frames
from .lease import under_lease
from .request import Request
from .state import Home, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .state import Json


def stop(request: Request, frames: Frames) -> None:
    """Stop one run and answer with who had to be killed and who is left."""
    home, run_id = Home(request.text("workdir")), request.run_id()
    grace, wait = request.number("grace", 60), request.number("wait", 30)
    kill = request.text("sig", "term") == "kill"
    home.run(run_id)  # a run that is not there is told before the lock is waited for
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    frames.deaf = True  # from here on it is finished, whether anyone listens or not

    def waiting(seconds: float) -> None:
        frames.send("stopping", run=run_id, what="wait lock", seconds=round(seconds, 3))

    # Its own lock: a server that takes a minute to drain keeps nobody from starting another one beside it.
    with home.lock(f"stop of {run_id}", grace + wait, waiting, of=run_id):
        run = home.run(run_id)
        with under_lease(home, request, run.state, ttl=grace + wait + 2 * leases.TTL):
            _stop(Stop(run, frames), grace, wait, kill)


def _stop(work: Stop, grace: float, wait: float, kill: bool) -> None:
    run, left = work.run, []
    work.session.look()
    since = float(run.state.get("started") or time.time())
    files = held((process.stat.pid for process in work.session.alive()), since)
    if work.session.alive():
        if not run.state.get("stopped"):
            with contextlib.suppress(OSError):  # a full disk must not keep a server running
                run.add(stopping=round(time.time(), 3))
        if not kill:
            work.ask_main(grace)
        left = work.kill_rest(wait)
        if not left:
            work.wait_gpu(wait)
    rows = [dict(p.row(), uid=proc.uid(p.stat.pid)) for p in left]
    done = {"seconds": work.seconds(), "killed": work.killed, "exit": run.exit_code(), "left": rows}
    if not left:
        # After a reboot the kernel gives the numbers of files in memory to others.
        noted = [] if work.session.rebooted else run.read("up.json").get("files") or []
        remove([*files, *noted], since)
        _close(run, done)
    port = run.state.get("port")
    work.frames.send("stopped", run=run.id, port_holder=sockets.holder(port) if port else None, **done)


def _close(run: Run, done: Json) -> None:
    """The run's books: when it was stopped. Its secrets are not needed any more."""
    with contextlib.suppress(OSError):
        os.unlink(run.path("secrets.env"))
    if not run.state.get("stopped"):
        with contextlib.suppress(OSError):  # a full disk must not make a stop look failed
            run.add(stopped=dict(done, t=round(time.time(), 3)))
