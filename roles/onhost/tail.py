"""A growing log -> frames of text with their byte offsets. Nothing of it is kept here but what one frame holds."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, Optional

    Fields = Dict[str, Any]

MOST = 64 * 1024  # bytes in one frame
PARTIAL_AFTER = 0.2  # seconds a line without an end is waited for
REPLACED_EVERY = 0.5  # seconds between looks whether another file has taken the log's name


class Tail:
    """Reads a log from an offset as it grows, over truncation and replacement."""

    def __init__(self, path: str, offset: int = 0) -> None:
        self.path, self.offset = path, offset
        self._fd: Optional[int] = None
        self._partial_since: Optional[float] = None
        self._looked = 0.0

    def poll(self, final: bool = False) -> Iterable[Fields]:
        """What is new. `final`: also a last line that nobody will finish."""
        recent = time.monotonic() - self._looked < REPLACED_EVERY
        if recent and not final and self._fd is not None and os.fstat(self._fd).st_size == self.offset:
            return ()  # the usual answer, fifty times a second
        return self._read(final)

    def _read(self, final: bool) -> Iterator[Fields]:
        if self._fd is None and not self._open():
            return
        assert self._fd is not None
        size = os.fstat(self._fd).st_size
        if size < self.offset:
            yield self._reset(f"the log is {size} bytes long, shorter than what was read of it ({self.offset})")
        yield from self.rest(size, final)
        if time.monotonic() - self._looked > REPLACED_EVERY or final:
            self._looked = time.monotonic()
            if self._replaced():
                yield from self.rest(os.fstat(self._fd).st_size, True)
                os.close(self._fd)
                self._fd = None
                yield self._reset("another file has taken the log's place")
                yield from self._read(final)

    def rest(self, size: int, final: bool) -> Iterator[Fields]:
        """Frames up to byte `size`."""
        if self._fd is None and not self._open():
            return
        assert self._fd is not None
        while self.offset < size:
            block = os.pread(self._fd, min(MOST, size - self.offset), self.offset)
            cut = self._cut(block, final)
            if not cut:
                return
            begin, self.offset = self.offset, self.offset + cut
            text = block[:cut].decode("utf-8", "backslashreplace")
            yield {"f": "log", "from": begin, "to": self.offset, "text": text}

    def _open(self) -> bool:
        try:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # not there yet
            return False
        return True

    def _replaced(self) -> bool:
        assert self._fd is not None
        try:
            now, mine = os.stat(self.path), os.fstat(self._fd)
        except OSError:  # away for the moment: wait for its successor
            return False
        return (now.st_ino, now.st_dev) != (mine.st_ino, mine.st_dev)

    def _reset(self, why: str) -> Fields:
        self.offset, self._partial_since = 0, None
        return {"f": "log_reset", "why": why}

    def _cut(self, block: bytes, final: bool) -> int:
        """How many bytes go out now: whole lines, or what has waited long enough; never half a character."""
        if final:
            return len(block) if len(block) < MOST else characters(block)
        cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if cut:
            self._partial_since = None
            return cut
        now = time.monotonic()
        if self._partial_since is None:
            self._partial_since = now
        if len(block) < MOST and now - self._partial_since < PARTIAL_AFTER:
            return 0
        cut = characters(block)
        if cut:
            self._partial_since = None
        return cut


def characters(block: bytes) -> int:
    """The length without a UTF-8 character that is cut at the end."""
    for back in range(1, min(4, len(block)) + 1):
        byte = block[-back]
        if byte & 0xC0 != 0x80:
            length = 4 if 0xF0 <= byte < 0xF8 else 3 if 0xE0 <= byte < 0xF0 else 2 if 0xC0 <= byte < 0xE0 else 1
            return len(block) - back if length > back else len(block)
    return len(block)
