"""What the client says while it follows: it is there, the run is up, it has had enough."""

from __future__ import annotations

import contextlib
import json
import time

from . import leases
from .belongings import held
from .problems import HostError
from .record import note
from .session import Session
from .state import Home, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional


class Commands:
    """`lease`: held by the client that started this run, and kept by whatever it says."""

    def __init__(self, run: Run, lease: Optional[str], send: Callable[..., None]) -> None:
        self.run, self.lease, self.send = run, lease, send

    def obey(self, line: bytes) -> bool:
        """Carry out one command; True means end."""
        self._renew()
        try:
            command = json.loads(line).get("c")
        except (ValueError, AttributeError):
            return False
        if command == "up":
            self._drop()
            self._up()
        return bool(command == "end")

    def _renew(self) -> None:
        """Whoever changes something here and listens keeps the lease on it; one that was taken over is told once."""
        if self.lease:
            try:
                leases.renew(Home(self.run.home), self.lease)
            except HostError as taken:
                self.lease = None
                self.send("lease", held=False, message=taken.message, do=taken.do)
            except OSError:
                pass  # a full disk: it ends by itself

    def _drop(self) -> None:
        if self.lease:
            with contextlib.suppress(OSError):
                leases.drop(Home(self.run.home), self.lease)
            self.lease = None

    def _up(self) -> None:
        """The client has seen every condition met: write down when and who is who, and tell who lives just then."""
        session = Session(self.run)
        session.look()
        main, leader = session.main(), session.leader()
        rows = [process.row() for process in session.processes]
        alive = {"main": main.stat.pid if main else None, "leader": leader.stat.pid if leader else None}
        self.send("procs", procs=rows, **alive)  # before the word that it is noted: a death until now is known with it
        with contextlib.suppress(OSError):
            note(session)
            ranks = [{key: seat[key] for key in ("label", "title", "pid", "start")} for seat in session.ranks()]
            since = float(self.run.state.get("started") or time.time())
            files = held((process.stat.pid for process in session.alive()), since)
            up = {"t": round(time.time(), 3), "ranks": ranks, "files": files}
            self.run.write("up.json", up, lasting=True)  # after a loss of power it was lost, and not never up
            self.send("noted", what="up")
