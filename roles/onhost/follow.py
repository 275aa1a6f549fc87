"""follow: one run's log, processes, port, GPUs and answers, as they change, until it ends or nobody listens."""

from __future__ import annotations

import os
import threading
import time

from . import gpu
from .commands import Commands
from .frames import Frames
from .given import Given
from .probe import Probe
from .problems import fault, from_os
from .request import Lines, Request
from .session import Session
from .signals import shell_signal
from .state import Home, Run
from .tail import Tail
from .watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

LOG_EVERY = 0.02  # seconds between looks at the log's size
BEAT_EVERY = 0.5  # seconds of silence after which a beat is sent: a link that is cut shows by nothing else
NO_BEAT = 60.0  # seconds without a word from the client after which nobody is there
GPU_EVERY = 2.0  # seconds


class Follower:
    """The threads of one `follow`. Each sends by itself; only the main thread reads stdin and ends them all."""

    def __init__(self, request: Request, frames: Frames, lines: Lines) -> None:
        self.run: Run = Home(request.text("workdir")).run(request.run_id())
        self.request, self.frames, self.lines = request, frames, lines
        asked = request.maybe("given", dict)
        self.given = Given(asked.get("names", []), asked.get("secrets", [])) if asked else None
        self.commands = Commands(self.run, request.maybe("lease", str), self.send)
        self.over, self.ours = threading.Event(), threading.Event()  # the run has ended; its port is held by it
        self._wake_out, self._wake_in = os.pipe()
        port = request.maybe("port", int) or self.run.state.get("port")
        self._tail, self._reading = Tail(self.run.log, self._from()), threading.Lock()
        self.watch = Watch(Session(self.run), port, self.send, self.ours, self._read)
        self._logging: Optional[threading.Thread] = None

    def send(self, kind: str, **fields: Any) -> None:
        """A frame of this run."""
        self.frames.send(kind, run=self.run.id, **fields)
        if kind == "procs" and self.given:
            told = self.given.of(self.watch.main)
            if told:
                self.given = None
                self.frames.send("given", run=self.run.id, **told)

    def start(self) -> None:
        """Begin what was asked for."""
        self._thread(self._beat)
        probe = self.request.maybe("probe", dict)
        if probe is not None:
            Probe(Request(probe), self.run, self._or_end(self.send), self.ours).start()
        if self.request.flag("gpus", False):
            self._thread(self._gpus)
        if self.request.flag("log", True):
            self._logging = self._thread(self._log)
        if self.request.flag("watch", True):
            self._thread(self._watch)

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=self._or_end(work), name=work.__name__, daemon=True)
        thread.start()
        return thread

    def _or_end(self, work: Callable[..., None]) -> Callable[..., None]:
        """In a thread: when nobody reads our frames any more, or on a fault of ours, all of them end."""

        def wrapped(*args: Any, **named: Any) -> None:
            try:
                work(*args, **named)
            except BrokenPipeError:
                os._exit(0)
            except Exception as error:
                self.frames.deaf = True
                self.frames.error(from_os(error) if isinstance(error, OSError) else fault(error))
                os._exit(1)

        return wrapped

    def _log(self) -> None:
        while True:
            last = self.over.is_set()  # asked before reading: what came meanwhile is in this last read
            self._read(last)
            if last:
                return
            time.sleep(LOG_EVERY)

    def _read(self, final: bool = False) -> None:
        """Send what is new in the log; also before a death is told, from the thread that saw it."""
        if self.request.flag("log", True):
            with self._reading:
                for fields in self._tail.poll(final):
                    self.send(fields.pop("f"), **fields)

    def _from(self) -> int:
        """The byte to begin at; a negative one means the log's end as it is now."""
        asked = int(self.request.number("from", 0))
        return asked if asked >= 0 else os.path.getsize(self.run.log)

    def _watch(self) -> None:
        self.watch.run()
        self.over.set()
        os.write(self._wake_in, b"!")

    def _gpus(self) -> None:
        while True:
            began = time.monotonic()
            rows = gpu.memory()
            if rows:
                self.frames.send("gpus", gpus=rows)
            # Each look starts a program: where the driver is slow to answer, ask less often.
            time.sleep(max(GPU_EVERY, 5 * (time.monotonic() - began)))

    def _beat(self) -> None:
        """Its own thread: where the client reads slowly, a write waits, and stdin must be heard all the same."""
        while True:
            silent = time.monotonic() - self.frames.last
            if silent >= BEAT_EVERY:
                self.frames.send("beat")
            time.sleep(max(0.05, BEAT_EVERY - silent))

    def _done(self) -> bool:
        """The run has ended and its log is sent, however long the client takes to read it."""
        return self.over.is_set() and not (self._logging and self._logging.is_alive())

    def listen(self) -> None:
        """Until the run has ended, or the client has; its commands are served meanwhile."""
        patience = self.request.number("no_beat", NO_BEAT)
        heard = time.monotonic()
        while not self._done():
            over = self.over.is_set()
            line = self.lines.next(wait=0.02 if over else 1.0, wake=None if over else self._wake_out)
            now = time.monotonic()
            if line is not None:
                heard = now
                if self.commands.obey(line):
                    self.frames.send("end")
                    return
            elif self.lines.closed or now - heard > patience:
                os._exit(0)
        code = self.run.exit_code()
        self.send("exit", code=code, rebooted=self.watch.session.rebooted, **shell_signal(code))
        self.frames.send("end")


def follow(request: Request, frames: Frames, lines: Lines) -> None:
    """Follow a run. Ends the process itself: a thread may still wait for an answer that nobody needs any more."""
    follower = Follower(request, frames, lines)
    follower.start()
    follower.listen()
