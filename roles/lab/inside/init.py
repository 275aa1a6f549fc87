"""A lab host's first process: takes new namespaces, builds the disk, starts sshd, then reaps what dies.

It is told what to build by one JSON line on stdin and answers on stdout, one JSON line a step: {"pid"}, then {"up"} or
{"failed"}. Between the two it waits for a line on stdin, while its network link is made from outside.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import disk, syscalls

NAMESPACES = syscalls.NEW_MOUNT | syscalls.NEW_UTS | syscalls.NEW_IPC | syscalls.NEW_PID | syscalls.NEW_NET
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main() -> None:
    request = json.loads(_line())
    try:
        syscalls.unshare(NAMESPACES)
    except OSError as error:
        _say(failed=str(error))
        return
    child = os.fork()
    if child:
        _say(pid=child)
        return
    try:
        _boot(request)
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        _say(failed=str(error))
        os._exit(1)
    _say(up=True)
    _reap_for_ever()


def _boot(request: dict[str, Any]) -> None:
    if not _line():
        raise RuntimeError("whoever boots this host went away")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    what = disk.Disk(**{**request["disk"], "shown": tuple(request["disk"]["shown"])})
    socket.sethostname(what.name)
    links = f"link set lo up\naddr add {what.address}/{request['prefix']} dev eth0\nlink set eth0 up\n"
    _run([request["ip"], "-batch", "-"], links)
    disk.build(what)
    ssh = Path(what.root, "run/allranks-lab")
    for folder in (ssh, Path(what.root, "run/sshd"), Path(what.root, "run/old")):
        folder.mkdir()
    for name in ("sshd_config", "host_key", "authorized_keys"):
        (ssh / name).write_bytes(Path(what.home, name).read_bytes())
        (ssh / name).chmod(0o600)
    syscalls.pivot(what.root, f"{what.root}/run/old")
    syscalls.detach("/run/old")
    os.environ.clear()
    os.environ.update(PATH=PATH, HOME="/root", USER="root", LOGNAME="root")
    _run([request["sshd"], "-f", "/run/allranks-lab/sshd_config", "-E", "/var/log/sshd.log"])
    _wait_for_sshd()


def _run(argv: list[str], text: str = "") -> None:
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{argv[0]} failed: {(done.stderr or done.stdout).strip()}")


def _wait_for_sshd(seconds: float = 5) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", 22), timeout=2) as sshd:
            if sshd.recv(4) == b"SSH-":
                return
        time.sleep(0.01)
    raise RuntimeError(f"sshd did not answer within {seconds:.0f} s; {Path('/var/log/sshd.log').read_text()[-500:]}")


def _reap_for_ever() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP})
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        signal.sigwait({signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP})


def _line() -> str:
    """One line of stdin, not a byte more: the rest is for the process forked off after it."""
    text = b""
    while not text.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            break
        text += byte
    return text.decode()


def _say(**frame: object) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
