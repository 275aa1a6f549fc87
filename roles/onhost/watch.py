"""A run's session and port, looked at again and again -> frames when something changes, until the server is gone."""

from __future__ import annotations

import contextlib
import os
import threading
import time

from . import sockets
from .deaths import Deaths
from .listening import listeners
from .record import note
from .session import Process, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Set, Tuple

    from .session import Key

LOOK_EVERY = 0.1  # seconds between looks at the known processes, unless the kernel tells of a death before
SCAN_EVERY = 1.0  # seconds between looks for new ones
SCAN_MISSING = 0.2  # the same while a rank has not been seen yet: one that dies unseen can hardly be named
PORT_EVERY = 0.5  # seconds
FULL = 64 * 1024  # bytes left on the log's disk that are as good as none
TELL_EVERY = 2.0  # seconds after which memory and CPU time are told though nothing else has changed
TELL_MISSING = 0.5  # the same while a rank has not been seen yet


class Watch:
    """`send` gets the frames, `ours` is set while the port is held by a process of the run.

    `catch_up` is called before a death is told: what the dead one wrote is then told already.
    """

    def __init__(
        self, session: Session, port: Optional[int], send: Callable[..., None], ours: threading.Event,
        catch_up: Callable[[], None],
    ) -> None:  # fmt: skip
        self.session, self.port, self.send, self.ours, self.catch_up = session, port, send, ours, catch_up
        self.main: Optional[Process] = None
        self._deaths = Deaths()
        self._living: Set[Key] = set()
        self._shown: Any = None
        self._told = self._scanned = self._looked = 0.0
        self._holder: Any = ()  # not yet told
        self._inodes: Tuple[int, ...] = ()
        self._full = False

    def run(self) -> None:
        """Until the leader and the server are both dead."""
        while self._look():
            self._deaths.wait(LOOK_EVERY)

    def _look(self) -> bool:
        now = time.monotonic()
        missing = self._missing()
        everywhere = now - self._scanned >= (SCAN_MISSING if missing else SCAN_EVERY)
        self.session.look(everywhere)
        leader, self.main = self.session.leader(), self.session.main()
        if leader is None and not everywhere:  # before it is called the end: has anyone been overlooked?
            everywhere = True
            self.session.look()
            self.main = self.session.main()
        if everywhere:
            self._scanned = now
            self._look_at_disk()
        with contextlib.suppress(OSError):  # a full disk ends no following
            note(self.session)
        alive = self.session.alive()
        living = {p.key for p in alive}
        if self._living - living:
            self.catch_up()
        self._living = living
        self._deaths.watch(alive)
        self._tell(now, leader, TELL_MISSING if missing else TELL_EVERY)
        if self.port and now - self._looked >= PORT_EVERY:
            self._looked = now
            self._look_at_port(self.port)
        return leader is not None or self.main is not None

    def _missing(self) -> bool:
        """Whether an expected rank has no process yet."""
        titles = {p.title for p in self.session.processes}
        return any(rank["title"] not in titles for rank in self.session.run.state.get("ranks") or ())

    def _tell(self, now: float, leader: Optional[Process], patience: float) -> None:
        main = self.main.stat.pid if self.main else None
        seen = main, [(p.key, p.title, p.stat.ppid, p.stat.state in "ZXTt") for p in self.session.processes]
        if seen != self._shown or now - self._told >= patience:
            self._shown, self._told = seen, now
            rows = [p.row() for p in self.session.processes]
            self.send("procs", main=main, leader=leader.stat.pid if leader else None, procs=rows)

    def _look_at_disk(self) -> None:
        """A server whose log cannot be written goes on without a word: nobody would know why it is silent."""
        with contextlib.suppress(OSError):
            seen = os.statvfs(self.session.run.folder)
            full = (seen.f_bfree if os.geteuid() == 0 else seen.f_bavail) * seen.f_frsize < FULL
            if full != self._full:
                self._full = full
                self.send("disk", full=full, path=self.session.run.log)

    def _look_at_port(self, port: int) -> None:
        """The holder is searched for only when the listening sockets are not those of the last look."""
        inodes = tuple(sorted(each.inode for each in listeners(port)))
        if inodes == self._inodes and self._holder != () and (self._holder is None or self._holder["pid"]):
            return
        pids = [p.stat.pid for p in self.session.alive()]
        found: Optional[Dict[str, Any]] = sockets.holder(port, pids)
        self._inodes = inodes
        if found is not None:
            found = dict(found, ours=found["pid"] in pids)
        if found != self._holder:
            self._holder = found
            (self.ours.set if found and found["ours"] else self.ours.clear)()
            self.send("port", port=port, holder=found)
