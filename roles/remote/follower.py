"""One host's frames of a running deployment, on one channel, for as long as anyone listens: reconnects where it was."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import paramiko

from roles.inventory.errors import AllranksError, Unreachable
from roles.remote.connect import jitter
from roles.remote.frames import Frame, FrameReader
from roles.remote.remote import Remote, exit_status, stderr_of

BEAT_EVERY = 10.0  # seconds; the program on the host ends itself after 60 s without one
QUIET_AFTER = 1.9  # seconds without a frame (the host sends one every half second) until the link is called lost
SILENT_AFTER = 12.0  # the same until it is given up and made anew
LONGEST_WAIT = 5.0  # seconds between two tries to connect again

Emit = Callable[[Frame], None]


class Follower:
    """Follows one run on one host in a thread and hands each frame to `emit`.

    Beside the host's frames it makes `{"f": "lost_connection", "why"}` and `{"f": "connected"}`, and `{"f": "failed"}`
    with the sentence when the program on the host refuses. The server is never touched: ending a follower is safe.
    """

    def __init__(self, remote: Remote, request: Mapping[str, Any], emit: Emit) -> None:
        self.remote, self.emit = remote, emit
        self._request = dict(request)
        self._offset = int(request.get("from") or 0)
        self._channel: paramiko.Channel | None = None
        self._stop = threading.Event()
        self._lost = self._quiet = self._greeted = False  # called lost; lost, but not given up; heard on this channel
        self._sent = 0.0
        self._thread = threading.Thread(target=self._run, name=f"follow-{remote.host.name}", daemon=True)

    def start(self) -> Follower:
        """Begin in a thread of its own."""
        self._thread.start()
        return self

    def stop(self, wait: float = 2.0) -> None:
        """End the follower and its program on the host (`wait`: seconds it may take)."""
        self._stop.set()
        self.tell({"c": "end"})
        self._drop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(wait)

    def tell(self, command: Mapping[str, Any]) -> None:
        """Send a command to the program on the host; nothing happens when the link is down."""
        channel = self._channel
        if channel is not None:
            with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
                channel.sendall(json.dumps(command).encode() + b"\n")

    def _run(self) -> None:
        wait = 0.5
        while not self._stop.is_set():
            try:
                if self._once():
                    return
            except Unreachable as error:
                self._note_loss(str(error))
            except AllranksError as error:
                self.emit({"f": "failed", "message": str(error), "t": time.time()})
                return
            except Exception as error:  # a bug, and still nobody waits for frames that no one reads any more
                what = f"{self.remote.host.name}: following ended by {type(error).__name__}: {error}"
                self.emit({"f": "failed", "message": f"{what} (a bug in allranks)", "t": time.time()})
                return
            if not self._stop.wait(jitter(wait)):
                wait = min(wait * 2, LONGEST_WAIT)

    def _note_loss(self, why: str) -> None:
        self._drop()
        self.remote.close()
        if not self._lost and not self._stop.is_set():
            self._lost = True
            self.emit({"f": "lost_connection", "why": why, "t": time.time()})

    def _once(self) -> bool:
        """Follow until the program ends (True: there is no more) or the link is lost (False or Unreachable)."""
        self._quiet = self._greeted = False
        channel = self._channel = self.remote.start("follow", self._asked())
        reader = FrameReader()
        heard = self._sent = time.monotonic()
        while not self._stop.is_set():
            self._beat()
            channel.settimeout(max(0.05, min(1.0, heard + QUIET_AFTER - time.monotonic())))
            try:
                data = channel.recv(262144)
            except TimeoutError:
                self._silent(time.monotonic() - heard)
                continue
            if not data:
                return self._ended(channel, reader)
            heard = time.monotonic()
            if self._quiet:
                self._heard_again()
            for frame in reader.feed(data):
                self._take(frame)
            if reader.ended:
                return True
        return True

    def _silent(self, seconds: float) -> None:
        """Nothing has come for a while: it is said first, and only later is the link made anew."""
        name = self.remote.host.name
        if seconds > SILENT_AFTER:
            raise Unreachable(f"{name}: nothing heard for {SILENT_AFTER:.0f} s")
        if seconds > QUIET_AFTER and self._greeted and not self._lost:
            self._lost = self._quiet = True
            self.emit({"f": "lost_connection", "why": f"nothing heard for {seconds:.0f} s", "t": time.time()})

    def _heard_again(self) -> None:
        self._lost = self._quiet = False
        self.emit({"f": "connected", "t": time.time()})

    def _asked(self) -> dict[str, Any]:
        return {**self._request, "from": self._offset}

    def _take(self, frame: Frame) -> None:
        if frame["f"] == "missing" and self._channel:  # the host was rebuilt
            self.remote.bring(self._channel, "follow", self._asked())
            return
        if frame["f"] == "hello":
            self._greeted = True
            if self._lost:
                self._heard_again()
        elif frame["f"] == "log":
            self._offset = int(frame["to"])
        elif frame["f"] == "log_reset":
            self._offset = 0
        elif frame["f"] == "error":
            raise self.remote.error(frame)
        self.emit(frame)

    def _ended(self, channel: paramiko.Channel, reader: FrameReader) -> bool:
        if reader.ended or self._stop.is_set():
            return True
        status = exit_status(channel)
        if status <= 0:
            raise Unreachable(f"{self.remote.host.name}: the connection was closed")
        said = (stderr_of(channel).strip().splitlines() or reader.noise or ["nothing"])[-1]
        raise AllranksError(f"{self.remote.host.name}: following ended with status {status}, saying: {said[:300]}")

    def _beat(self) -> None:
        if time.monotonic() - self._sent > BEAT_EVERY:
            self._sent = time.monotonic()
            self.tell({"c": "beat"})

    def _drop(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            with contextlib.suppress(Exception):
                channel.close()
