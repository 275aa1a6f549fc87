"""stop: SIGTERM to main alone, time to finish, then SIGKILL to what is left of the session, until nothing is.

Main alone, because SGLang takes a SIGTERM to its whole group for a crash of its schedulers.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any, Callable, List, Optional

from . import gpu, leases, proc, sockets
from .frames import Frames
from .lease import under_lease
from .request import Request
from .session import Process, Session
from .state import Home, Json, Run

LOOK_EVERY = 0.03  # seconds
LEADER_WAIT = 1.0  # seconds the shell gets to write the exit status down
FALLING = 64  # MiB less than at the last look: the driver is still giving memory back


def send_signal(process: Process, number: int) -> bool:
    """Signal exactly this process, never another that has got its number since. False: it is gone.

    Raises: PermissionError when it is another user's.
    """
    pid = process.stat.pid
    handle = None
    try:
        if hasattr(os, "pidfd_open"):  # Python 3.9 and Linux 5.3: no gap between looking and killing
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
        now = proc.stat(pid)
        if now is None or now.dead or (now.start, now.session) != (process.stat.start, process.stat.session):
            return False
        if handle is not None:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        if handle is not None:
            os.close(handle)


class Stop:
    """One stop, with its clock and its words."""

    def __init__(self, run: Run, frames: Frames) -> None:
        self.run, self.frames, self.session = run, frames, Session(run)
        self.began, self._said, self._what = time.monotonic(), 0.0, ""
        self.killed: List[Json] = []

    def seconds(self) -> float:
        """Since the stop began."""
        return round(time.monotonic() - self.began, 3)

    def say(self, what: str, **more: Any) -> None:
        """Tell what is being done, at once when it changes and then once a second."""
        if what != self._what or time.monotonic() - self._said > 1:
            self._what, self._said = what, time.monotonic()
            self.frames.send("stopping", run=self.run.id, what=what, seconds=self.seconds(), **more)

    def until(self, what: str, done: Callable[[], bool], wait: float, every: float = LOOK_EVERY) -> bool:
        """Wait for something, telling what. False: it has not come within `wait` seconds."""
        end = time.monotonic() + wait
        while not done():
            if time.monotonic() >= end:
                return False
            self.say(what)
            time.sleep(every)
        return True

    def ask_main(self, grace: float) -> None:
        """SIGTERM to main, and time to finish for it and for the shell above it."""
        main = self.session.main()
        if main is None:
            return
        with contextlib.suppress(PermissionError):
            send_signal(main, signal.SIGTERM)
        self.say("term main")
        self.until("term main", lambda: not _lives(main), grace)
        self._leave_leader()

    def _leave_leader(self) -> None:
        """The shell writes main's exit status and ends by itself, if it is let."""
        leader = self.session.leader()
        if leader and not (self.session.main() and _lives(self.session.main())):
            self.until("wait leader", lambda: not _lives(leader), LEADER_WAIT)

    def kill_rest(self, wait: float) -> List[Process]:
        """SIGKILL whatever is left, the leader last, looking again until nothing new was forked. Gives who stays."""
        end = time.monotonic() + wait
        tried = set()
        while time.monotonic() < end:
            self.session.look()
            leader, alive = self.session.leader(), self.session.alive()
            others = [p for p in alive if p is not leader]
            if not alive:
                return []
            if not others and leader:
                self._leave_leader()
                others = [leader] if _lives(leader) else []
            for process in others:
                self.say("kill group")
                if self._kill(process) and process.key not in tried:
                    tried.add(process.key)
                    self.killed.append({"pid": process.stat.pid, "title": process.title})
            self.say("wait processes")
            time.sleep(LOOK_EVERY)
        self.session.look()
        return self.session.alive()

    @staticmethod
    def _kill(process: Process) -> bool:
        try:
            return send_signal(process, signal.SIGKILL)
        except PermissionError:
            return False

    def wait_gpu(self, wait: float) -> None:
        """Until the driver has given the GPUs' memory back: used MiB of the run's GPUs no longer falls."""
        mine = set(self.run.state.get("gpus") or ())
        last: List[Optional[int]] = [_used(mine) if mine else None]

        def settled() -> bool:
            before, last[0] = last[0], _used(mine)
            return before is None or last[0] is None or before - last[0] < FALLING

        if last[0]:
            time.sleep(0.1)
            self.until("wait gpu", settled, wait, every=0.2)


def _used(mine: Any) -> Optional[int]:
    found = [row["used_mib"] for row in gpu.memory() if row["index"] in mine and row["used_mib"] is not None]
    return sum(found) if found else None


def _lives(process: Optional[Process]) -> bool:
    now = proc.stat(process.stat.pid) if process else None
    return bool(process and now and not now.dead and now.start == process.stat.start)


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

    with home.lock(f"stop of {run_id}", grace + wait, waiting):
        run = home.run(run_id)
        with under_lease(home, request, run.state, ttl=grace + wait + 2 * leases.TTL):
            _stop(Stop(run, frames), grace, wait, kill)


def _stop(work: Stop, grace: float, wait: float, kill: bool) -> None:
    run, left = work.run, []
    work.session.look()
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
