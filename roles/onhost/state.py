"""<workdir> -> runs, their files and the lock. Every file is written beside its place and renamed into it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time

from .problems import HostError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Collection, Dict, Iterator, List, Optional, Tuple

    Json = Dict[str, Any]


def write(path: str, content: bytes, mode: int = 0o600, lasting: bool = True) -> None:
    """Put a file in its place whole or not at all, readable by its owner only unless told otherwise.

    `lasting`: it matters after a loss of power too (waiting for the disk takes 1 to 30 ms).
    """
    beside = f"{path}.{os.getpid()}-{threading.get_ident()}.new"  # a follower's threads write ranks.json both
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, mode)  # whatever the umask says
            file.write(content)
            file.flush()
            if lasting:
                os.fsync(fd)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


class Run:
    """One run's folder. `state` is what start wrote (and stop added), see start.py."""

    def __init__(self, home: str, run: str) -> None:
        self.id, self.home, self.folder = run, home, os.path.join(home, "runs", run)
        self.log = self.path("server.log")
        self.state: Json = {}

    def path(self, name: str) -> str:
        """A file of the run."""
        return os.path.join(self.folder, name)

    def load(self) -> Run:
        """Read state.json. Raises: HostError when there is no such run, or its file is damaged."""
        try:
            with open(self.path("state.json"), "rb") as file:
                self.state = dict(json.load(file))
            self.identity()
        except FileNotFoundError:
            raise HostError("missing", f"there is no run {self.id} in {self.home}", "see `inv status`") from None
        except (ValueError, KeyError, TypeError) as error:
            message = f"{self.path('state.json')} is damaged ({type(error).__name__}: {error})"
            raise HostError("internal", message, "look at the host's processes, then move that folder away") from None
        return self

    def identity(self) -> Tuple[int, int, int, str]:
        """(leader's pid, its start ticks, session, boot): what no other process can have."""
        leader = self.state["leader"]
        return int(leader["pid"]), int(leader["start"]), int(self.state["session"]), str(self.state["boot"])

    def read(self, name: str) -> Json:
        """A JSON file of the run; {} when it is not there or not whole."""
        try:
            with open(self.path(name), "rb") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, name: str, content: Json, lasting: bool = False) -> None:
        """Write a JSON file of the run. `lasting`: as for `write`; most tell of a run that a loss of power ends."""
        write(self.path(name), (json.dumps(content, indent=1) + "\n").encode(), lasting=lasting)

    def add(self, **more: Any) -> None:
        """Add to state.json."""
        self.state.update(more)
        self.write("state.json", self.state, lasting=True)

    def exit_code(self) -> Optional[int]:
        """What the launch script wrote as the server's exit status, or None: not yet, it may be empty for a moment."""
        try:
            with open(self.path("exit"), "rb") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None


class Home:
    """The work folder on this host."""

    def __init__(self, workdir: str) -> None:
        self.path = os.path.abspath(os.path.expanduser(workdir))

    def make(self) -> None:
        """Create the folders, for their owner only."""
        os.makedirs(os.path.join(self.path, "runs"), mode=0o700, exist_ok=True)

    def run(self, run: str) -> Run:
        """The run of this id, read. Raises: HostError."""
        return Run(self.path, run).load()

    def runs(self, besides: Collection[str] = ()) -> List[Run]:
        """Every run that can be read, but for these ids, oldest first; a damaged one has an empty state."""
        folder = os.path.join(self.path, "runs")
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        found: List[Run] = []
        for name in sorted(set(names).difference(besides)):
            run = Run(self.path, name)
            if os.path.exists(run.path("state.json")):
                with contextlib.suppress(HostError):
                    run.load()
                found.append(run)
        return sorted(found, key=lambda each: float(each.state.get("started") or 0))

    @contextlib.contextmanager
    def lock(
        self, why: str, wait: float, say: Optional[Callable[[float], None]] = None, of: str = ""
    ) -> Iterator[None]:
        """Hold the host's lock, or that of the run `of` alone; the kernel drops it when we end, however we end.

        Args: wait: seconds to wait for another holder; say: called about once a second meanwhile.
        Raises: HostError naming who has it.
        """
        self.make()
        place = os.path.join(self.path, "runs", of) if of else self.path
        fd = os.open(os.path.join(place, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take(fd, wait, say)
            with contextlib.suppress(OSError):  # who it is is a courtesy: a full disk does not matter here
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{why}, pid {os.getpid()}".encode(), 0)
            yield
            os.ftruncate(fd, 0)
        finally:
            os.close(fd)

    @staticmethod
    def _take(fd: int, wait: float, say: Optional[Callable[[float], None]]) -> None:
        began = said = time.monotonic()
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                now = time.monotonic()
            if now - began > wait:
                who = os.pread(fd, 300, 0).decode("utf-8", "replace") or "someone"
                raise HostError("refused", f"this host is being changed by: {who}", "wait for it, then try again")
            if say and now - said > 1:
                said = now
                say(now - began)
            time.sleep(0.02)
