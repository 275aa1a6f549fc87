"""Frames: one JSON object a line on stdout, written whole, whichever thread writes."""

from __future__ import annotations

import json
import os
import threading
import time

from .problems import HostError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Frames:
    """The way out. Nothing is queued: a writer waits for the reader, so memory stays flat.

    Args:
        deaf: go on without a reader (a stop that has begun is finished even when the operator's link breaks).
    """

    def __init__(self, fd: int = 1) -> None:
        self.fd, self.deaf = fd, False
        self.last = time.monotonic()  # when something was last written, seconds
        self._lock = threading.Lock()

    def send(self, kind: str, **fields: Any) -> None:
        """Write one frame. Raises: BrokenPipeError when nobody reads any more (unless deaf)."""
        frame = {"f": kind, "t": round(time.time(), 3)}
        frame.update(fields)
        # ASCII only: no reader anywhere can then take a character for a line's end.
        rest = memoryview((json.dumps(frame, separators=(",", ":")) + "\n").encode("ascii"))
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self.fd, rest) :]
            except OSError:
                if not self.deaf:
                    raise BrokenPipeError from None
            self.last = time.monotonic()

    def error(self, problem: HostError) -> None:
        """The frame that ends a verb which could not be carried out."""
        self.send("error", code=problem.code, message=problem.message, do=problem.do, **problem.more)
