"""`inv watch --json`, its lines as they come."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from typing import Any

from tests.hosts.clone import Clone


class Watching:
    """A running `inv watch`. Each line gets `read`: when it came (epoch seconds)."""

    def __init__(self, clone: Clone, *options: str) -> None:
        self.process: subprocess.Popen[str] = clone.start("watch", "--json", *options)
        self.lines: list[dict[str, Any]] = []
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put({**json.loads(line), "read": time.time()})
        self._queue.put(None)

    def until(self, words: str, within: float = 40.0) -> dict[str, Any]:
        """The next line with these words."""
        end = time.monotonic() + within
        while True:
            line = self._queue.get(timeout=max(0.01, end - time.monotonic()))
            assert line is not None, (self.lines, self.process.stderr and self.process.stderr.read())
            self.lines.append(line)
            if words in line.get("text", ""):
                return line

    def end(self, within: float = 60.0) -> tuple[int, dict[str, Any]]:
        """Exit status and last line."""
        code = self.process.wait(within)
        while (line := self._queue.get(timeout=5)) is not None:
            self.lines.append(line)
        return code, self.lines[-1]
