"""Frames on their hosts' clocks -> on this machine's clock: else an echo could come before its cause."""

from __future__ import annotations

import time
from collections.abc import Callable

from roles.remote import Frame

OWN = ("lost_connection", "connected", "failed")  # frames made here: on this machine's clock already


class Clocks:
    """How far each host's clock is ahead, as its `hello` shows it. `now`: this machine's clock, epoch seconds."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._skew: dict[int, float] = {}

    def here(self, node: int, frame: Frame) -> Frame:
        """The frame with its time on this machine's clock; `hello` gets its `skew`, for the stamps in the log."""
        stamp = frame.get("t")
        if not isinstance(stamp, int | float) or frame["f"] in OWN:
            return frame
        if frame["f"] == "hello":
            self._skew[node] = stamp - self._now()
            frame = {**frame, "skew": self._skew[node]}
        return {**frame, "t": stamp - self._skew.get(node, 0.0)}
