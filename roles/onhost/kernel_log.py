"""The kernel's own log -> what it says of killed processes, GPUs and disks. Where it may not be read, that is said."""

from __future__ import annotations

import os
import re
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, List, Optional, Tuple

    from .state import Json

MOST = 200_000  # records read; the kernel keeps some megabytes
KEPT = 20  # telling lines, the last ones
PATIENCE = 3.0  # seconds for `dmesg`, `journalctl`

# What a line is about, and its own words: the killed process, the GPU's error number
KINDS = (
    ("oom", re.compile(r"[Oo]ut of memory: Killed process (?P<pid>\d+) \((?P<name>[^)]*)\)")),
    ("xid", re.compile(r"NVRM: Xid \((?P<name>[^)]*)\): (?P<number>\d+)(?:, pid='?(?P<pid>\d+))?")),
    ("segfault", re.compile(r"(?P<name>\S+)\[(?P<pid>\d+)\]: segfault at|traps: (?P<trap>\S+)\[(?P<trapped>\d+)\]")),
    ("hung", re.compile(r"task (?P<name>.+):(?P<pid>\d+) blocked for more than \d+ seconds")),
    ("disk", re.compile(r"I/O error, dev (?P<name>\w+)|nfs: server (?P<server>\S+) not responding")),
)


def kernel_log() -> Json:
    """{readable, why?, lines: [{t, kind, text, pid?, name?, number?}]}: telling lines, oldest first; t: epoch, s."""
    try:
        return {"readable": True, "lines": telling(_records())}
    except OSError as error:
        why = error.strerror or str(error)
    for argv in (["dmesg"], ["journalctl", "-k", "-n", "20000", "--no-pager", "-o", "short-monotonic"]):
        said = _run(argv)
        if said:
            return {"readable": True, "lines": telling(_dmesg(said))}
    return {"readable": False, "why": why, "lines": []}


def telling(records: Iterator[Tuple[float, str]]) -> List[Json]:
    """Of (seconds after boot, text) those that a row of KINDS knows."""
    booted = time.time() - time.monotonic()  # the clock that the kernel stamps with, within a second or so
    found = []
    for seconds, text in records:
        for kind, regex in KINDS:
            match = regex.search(text)
            if match:
                words = {key: value for key, value in match.groupdict().items() if value is not None}
                told = {"t": round(booted + seconds, 3), "kind": kind, "text": text[:300]}
                told.update({key: int(words[key]) for key in ("pid", "trapped", "number") if key in words})
                told["name"] = words.get("name") or words.get("trap") or words.get("server")
                told["pid"] = told.pop("trapped", None) or told.get("pid")
                found.append(told)
                break
    return found[-KEPT:]


def _records() -> Iterator[Tuple[float, str]]:
    """/dev/kmsg, record by record: `6,6193,3844483455,-;text`. Raises: OSError when it may not be opened."""
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        for _ in range(MOST):
            try:
                raw = os.read(fd, 8192)
            except BlockingIOError:
                return
            except BrokenPipeError:  # the oldest one was overwritten while we looked
                continue
            head, _, text = raw.decode("utf-8", "replace").partition(";")
            parts = head.split(",")
            if len(parts) > 2 and parts[2].isdigit():
                yield int(parts[2]) / 1e6, text.split("\n", 1)[0]
    finally:
        os.close(fd)


def _dmesg(said: str) -> Iterator[Tuple[float, str]]:
    for line in said.splitlines():
        match = re.match(r"\[ *(\d+\.\d+)\] (.*)", line)
        if match:
            yield float(match.group(1)), match.group(2)


def _run(argv: List[str]) -> Optional[str]:
    try:
        done = subprocess.run(
            argv, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
