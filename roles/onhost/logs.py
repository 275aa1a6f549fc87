"""log: the last lines of a run's log, or those since a time, found from its end. What is not asked for is not read."""

from __future__ import annotations

import os
import re
import time

from .frames import Frames
from .request import Request
from .state import Home
from .tail import Tail

BLOCK = 64 * 1024  # bytes
HEAD = rb"(?m)^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"  # SGLang's line head, local time


def log(request: Request, frames: Frames) -> None:
    """Send the log from where it was asked for to where it ends now."""
    run = Home(request.text("workdir")).run(request.run_id())
    lines, since = request.maybe("lines", int), request.maybe("since", float) or request.maybe("since", int)
    if not os.path.exists(run.log):
        return
    with open(run.log, "rb", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        begin = 0
        if lines is not None:
            begin = line_start(file.fileno(), size, lines)
        if since is not None:
            begin = max(begin, time_start(file.fileno(), size, float(since)))
    for fields in Tail(run.log, begin).rest(size, final=True):
        frames.send(fields.pop("f"), run=run.id, **fields)


def line_start(fd: int, size: int, lines: int) -> int:
    """Where the last `lines` lines begin; an unfinished last line counts as one."""
    if lines <= 0:
        return size
    end, wanted = size, lines
    if size and os.pread(fd, 1, size - 1) == b"\n":
        wanted += 1
    while end > 0:
        begin = max(0, end - BLOCK)
        block = os.pread(fd, end - begin, begin)
        there = block.count(b"\n")
        if there >= wanted:
            at = len(block)
            for _ in range(wanted):
                at = block.rindex(b"\n", 0, at)
            return begin + at + 1
        wanted, end = wanted - there, begin
    return 0


def time_start(fd: int, size: int, since: float) -> int:
    """Where the first line at or after this time begins; a line without a time belongs to the one before it."""
    end, found, after = size, size, b""
    while end > 0:
        begin = max(0, end - BLOCK)
        block = os.pread(fd, end - begin, begin) + after
        first = 0 if begin == 0 else block.find(b"\n") + 1 or len(block)
        whole = block[first:]  # the block's first line is cut: it is looked at with the block before
        times = [(begin + first + head.start(), _time(head.group(1))) for head in re.finditer(HEAD, whole)]
        found = min([at for at, when in times if when >= since] + [found])
        if any(when < since for _, when in times):
            return found
        after, end = block[: min(first, BLOCK)], begin
    return found


def _time(text: bytes) -> float:
    try:
        return time.mktime(time.strptime(text.decode(), "%Y-%m-%d %H:%M:%S"))
    except (ValueError, OverflowError):
        return -1.0
