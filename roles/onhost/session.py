"""A run -> its processes: all that share the session of its leader. SGLang's children never leave it (no setsid),
not even those that lost their parent and were given to PID 1."""

from __future__ import annotations

import os
import re

from . import proc
from .state import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

    from .state import Json

    Key = Tuple[int, int]  # pid, start ticks

# What a launch script may run beside the server; none of these is ever "the server".
SHELL_TOOLS = {"cat", "chmod", "cp", "date", "env", "ln", "ls", "mkdir", "mv", "rm", "sed", "sync", "touch"}
SERVER = r"\bsglang(?:\.|$| serve\b)"


class Process:
    """A process of the run. A zombie's title is the one it had, as far as we know it."""

    __slots__ = ("stat", "title")

    def __init__(self, stat: proc.Stat, title: str) -> None:
        self.stat, self.title = stat, title

    @property
    def key(self) -> Key:
        """What no other process has."""
        return self.stat.pid, self.stat.start

    def row(self) -> Json:
        """For a frame."""
        s, read = self.stat, None if self.stat.dead else proc.bytes_read(self.stat.pid)
        return {"pid": s.pid, "ppid": s.ppid, "title": self.title, "state": s.state, "start": s.start,
                "rss_mib": s.rss_mib, "cpu_s": s.cpu_s, "read_bytes": read, "signal": s.signal}  # fmt: skip

    def is_server(self) -> bool:
        """Whether it is called as SGLang is."""
        return "sglang" in self.title and bool(re.search(SERVER, self.title))


class Session:
    """The processes of one run, looked at again and again. Nothing is ever taken for ours by its number alone."""

    def __init__(self, run: Run) -> None:
        self.run, self.boot = run, proc.boot_id()
        self.pid, self.start, self.number, self._boot = run.identity()
        self.recorded = run.read("ranks.json")
        self.processes: List[Process] = []
        self._titles: Dict[Key, str] = {}
        for entry in self.known():
            self._titles[(entry["pid"], entry["start"])] = entry["title"]

    @property
    def rebooted(self) -> bool:
        """Whether the host was started anew since: nothing of the run can be left."""
        return self._boot != self.boot

    def known(self) -> List[Json]:
        """The processes written down earlier in ranks.json."""
        main = self.recorded.get("main")
        return ([main] if main else []) + list(self.recorded.get("ranks", ()))

    def look(self, everywhere: bool = True) -> List[Process]:
        """The run's processes now, zombies too. `everywhere`: also find new ones."""
        if self.rebooted:
            return []
        if everywhere:
            ours = proc.members(self.number)
        else:
            ours = [s for s in proc.scan(p.stat.pid for p in self.processes) if s.session == self.number]
        self.processes = [Process(s, self._title(s, everywhere)) for s in ours] if self._is_ours(ours) else []
        return self.processes

    def alive(self) -> List[Process]:
        """Those of the last look that are not zombies."""
        return [p for p in self.processes if not p.stat.dead]

    def _is_ours(self, members: Sequence[proc.Stat]) -> bool:
        """Is the session of this number still the one that start made?

        While a member lives the kernel gives its session's number to nobody else, so one proven member proves all: the
        leader or a recorded process with the right start time, or one that works in the run's folder or on its log.
        """
        if any(s.pid == self.pid and s.start != self.start for s in members):
            return False
        keys = {(self.pid, self.start)} | set(self._titles)
        return any((s.pid, s.start) in keys for s in members) or any(self._touches(s.pid) for s in members)

    def _touches(self, pid: int) -> bool:
        folder, log = os.path.realpath(self.run.folder), os.path.realpath(self.run.log)
        return proc.link(pid, "cwd") == folder or log in (proc.link(pid, "fd/1"), proc.link(pid, "fd/2"))

    def _title(self, stat: proc.Stat, afresh: bool) -> str:
        """A title is read anew when all is looked at; a fork's is its parent's until it becomes something else."""
        key = (stat.pid, stat.start)
        title = "" if stat.dead or (not afresh and key in self._titles) else proc.title(stat.pid)
        if title:
            self._titles[key] = title
        return title or self._titles.get(key) or f"[{stat.comm}]"

    def leader(self) -> Optional[Process]:
        """The shell that runs the launch script, while it lives."""
        return next((p for p in self.alive() if p.key == (self.pid, self.start)), None)

    def main(self) -> Optional[Process]:
        """The server itself: the leader's child that is neither a fork of the shell nor one of its small tools."""
        leader, alive = self.leader(), self.alive()
        if leader is None:  # killed alone: the server lives on without its shell
            known = self.recorded.get("main") or {}
            return next((p for p in alive if p.key == (known.get("pid"), known.get("start"))), None) or next(
                (p for p in alive if p.is_server()), None
            )
        children = [
            p for p in alive if p.stat.ppid == self.pid and p.title != leader.title and p.stat.comm not in SHELL_TOOLS
        ]
        return min(children, key=lambda p: (not p.is_server(), p.stat.start), default=None)

    def ranks(self) -> List[Dict[str, Any]]:
        """Each expected rank with the process that has its title now, or had it when last written down.

        A fork of a scheduler has its title until it becomes something else: who lives comes first, then the oldest.
        """
        seats = []
        old = {entry.get("title"): entry for entry in self.recorded.get("ranks", ())}
        for rank in self.run.state.get("ranks") or ():
            now = [p for p in self.processes if p.title == rank["title"]]
            found = min(now, key=lambda p: (p.stat.dead, p.stat.start), default=None)
            was = old.get(rank["title"], {})
            pid, start = found.key if found else (was.get("pid"), was.get("start"))
            alive = bool(found and not found.stat.dead)
            seats.append({"label": rank["label"], "title": rank["title"], "pid": pid, "start": start, "alive": alive})
        return seats
