"""The end of a run, step by step: ask main, kill what is left of the session, wait for the GPUs' memory."""

from __future__ import annotations

import contextlib
import signal
import time

from . import gpu
from .deaths import Deaths
from .frames import Frames
from .session import Process, Session
from .signals import lives, send_signal
from .state import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Optional

    from .state import Json

LOOK_EVERY = 0.03  # seconds between two looks, unless the kernel tells of a death before
LEADER_WAIT = 1.0  # seconds the shell gets to write the exit status down
FALLING = 64  # MiB less than at the last look: the driver is still giving memory back


class Stop:
    """One stop, with its clock and its words."""

    def __init__(self, run: Run, frames: Frames) -> None:
        self.run, self.frames, self.session = run, frames, Session(run)
        self.began, self._said, self._what = time.monotonic(), 0.0, ""
        self.killed: List[Json] = []
        self._deaths, self._left = Deaths(), False

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
            self._deaths.wait(every)
        return True

    def ask_main(self, grace: float) -> None:
        """SIGTERM to main, and time to finish for it and for the shell above it."""
        main = self.session.main()
        if main is None:
            return
        self._deaths.watch(self.session.alive())
        with contextlib.suppress(PermissionError):
            send_signal(main, signal.SIGTERM)
        self.say("term main")
        self.until("term main", lambda: not lives(main), grace)
        self._leave_leader()

    def _leave_leader(self) -> None:
        """The shell writes main's exit status and ends by itself, if it is let (once)."""
        leader = self.session.leader()
        if leader and not self._left and not lives(self.session.main()):
            self._left = True
            self.until("wait leader", lambda: not lives(leader), LEADER_WAIT)

    def kill_rest(self, wait: float) -> List[Process]:
        """SIGKILL whatever is left, the leader last, looking again until nothing new was forked. Gives who stays."""
        end = time.monotonic() + wait
        tried = set()
        while time.monotonic() < end:
            self.session.look()
            self._deaths.watch(self.session.alive())
            self._leave_leader()
            leader, alive = self.session.leader(), self.session.alive()
            if not alive:
                return []
            others = [p for p in alive if p is not leader] or ([leader] if leader else [])
            for process in others:
                self.say("kill group")
                if self._kill(process) and process.key not in tried:
                    tried.add(process.key)
                    self.killed.append({"pid": process.stat.pid, "title": process.title})
            self.until("wait processes", lambda gone=others: not any(map(lives, gone)), LOOK_EVERY)  # type: ignore[misc]
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
