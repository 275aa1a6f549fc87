"""The JSON lines of a running program as they come."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

Frame = dict[str, Any]


class Reading:
    """What a program prints, an object a line. Each gets `read`: when it came (this machine's clock, epoch seconds)."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self.process = process
        self.seen: list[Frame] = []
        self._queue: queue.Queue[Frame | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put({**json.loads(line), "read": time.time()})
        self._queue.put(None)

    def until(self, wanted: Callable[[Frame], Any], within: float = 10.0) -> Frame:
        """The next one that is wanted."""
        end = time.monotonic() + within
        while True:
            frame = self._queue.get(timeout=max(0.01, end - time.monotonic()))
            if frame is None:
                said = self.process.stderr.read() if self.process.stderr else ""
                raise AssertionError(f"ended; last: {self.seen[-3:]} {said}")
            self.seen.append(frame)
            if wanted(frame):
                return frame

    def rest(self, within: float = 20.0) -> list[Frame]:
        """Everything up to the end of the program."""
        end = time.monotonic() + within
        while (frame := self._queue.get(timeout=max(0.01, end - time.monotonic()))) is not None:
            self.seen.append(frame)
        return self.seen
