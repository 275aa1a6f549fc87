"""pip, with one line that says where it is instead of a hundred that scroll by."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from roles.inventory.errors import AllranksError

EVERY = 15.0  # seconds between two lines where nobody looks
WORDS = re.compile(r"(?:Collecting|Processing|Downloading|Using cached) (?:\S*/)?([\w.+=\-]+)(?:.*\((.* [kMG]B)\))?")


def install(venv: Path, *arguments: str) -> None:
    """`pip install` into a virtual environment. Raises: AllranksError with pip's own last error line."""
    argv = [str(venv / "bin/python"), "-m", "pip", "install", "--progress-bar", "off", *arguments]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors) as pip:
            assert pip.stdout is not None
            _show(_steps(pip.stdout))
        if pip.returncode:
            errors.seek(0)
            said = [line for line in errors.read().splitlines() if line.startswith("ERROR:")]
            why = said[-1].removeprefix("ERROR: ") if said else f"exit status {pip.returncode}"
            raise AllranksError(
                f"pip install {arguments[-1]}: {why}", do="see to the network or proxy, then do it again"
            )


def words(line: str) -> str | None:
    """What a line of pip's says is being done, None when it says nothing new."""
    if line.startswith("Installing collected packages"):
        several = line.count(",") + 1
        return f"unpacking {several} package{'s' * (several > 1)}"
    found = WORDS.match(line.strip())
    if not found:
        return None
    name = "-".join(found[1].split("-")[:2]) if found[1].endswith(".whl") else found[1]
    return " ".join(part for part in (name, found[2]) if part)


def _steps(output: IO[bytes]) -> Iterator[str]:
    """What is being done, at each change and once a second, until pip closes its output."""
    rest, now, told = b"", "asking the package index", ""
    while True:
        ready, _, _ = select.select([output], [], [], 1.0)
        if ready:
            data = os.read(output.fileno(), 65536)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                now = words(line.decode(errors="replace")) or now
        if now != told or not ready:
            told = now
            yield now


def _show(steps: Iterator[str]) -> None:
    """On a terminal one line that is written over; elsewhere a line now and then."""
    began = said = time.monotonic()
    terminal = sys.stdout.isatty()
    for step in steps:
        now = time.monotonic()
        text = f"  {now - began:4.0f} s  {step}"
        if terminal:
            print(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)
        elif now - said > EVERY:
            said = now
            print(text, flush=True)
    if terminal:
        print("\r\033[K", end="", flush=True)
