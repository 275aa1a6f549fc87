"""Bytes from a channel -> frames. A frame is one line of JSON with a key `f`; all else is a shell's noise."""

from __future__ import annotations

import json
from typing import Any

Frame = dict[str, Any]

KEPT_NOISE = 20  # lines


class FrameReader:
    """Cuts the stream at newlines before it decodes, so that no character is torn over two reads."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self.noise: list[str] = []
        self.ended = False  # the program has said `end` or `error`: what follows is nothing

    def feed(self, data: bytes) -> list[Frame]:
        """The frames completed by these bytes."""
        if b"\n" not in data:
            self._rest.append(data)
            return []
        *lines, rest = (b"".join(self._rest) + data).split(b"\n")
        self._rest = [rest] if rest else []
        frames = []
        for line in lines:
            if self.ended:
                break
            if (frame := self._frame(line)) is not None:
                frames.append(frame)
        return frames

    def _frame(self, line: bytes) -> Frame | None:
        if line.startswith(b"{"):
            try:
                frame = json.loads(line)
            except ValueError:
                frame = None
            if isinstance(frame, dict) and "f" in frame:
                self.ended = self.ended or frame["f"] in ("end", "error")
                return frame
        if line.strip() and len(self.noise) < KEPT_NOISE:
            self.noise.append(line.decode(errors="replace"))
        return None
