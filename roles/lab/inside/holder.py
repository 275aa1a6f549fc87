"""Keeps a user and a network namespace alive: the whole network of an ordinary user's lab lives in it."""

from __future__ import annotations

import os
import signal
import sys

from . import syscalls


def main() -> None:
    if os.fork():  # nobody's child: whoever starts the lab may go
        return
    try:
        syscalls.unshare(syscalls.NEW_USER | syscalls.NEW_NET)
    except OSError as error:
        sys.exit(str(error))
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    if not sys.stdin.readline():  # whoever maps the ids went away
        return
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
