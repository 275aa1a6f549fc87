"""A launch script -> a process of its own: no terminal, no parent, no open file of ours, deaf to hang-ups."""

from __future__ import annotations

import contextlib
import os
import signal

from . import proc
from .problems import HostError
from .programs import which

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List

NOT_INHERITED = "SSH_"  # SSH_CONNECTION, SSH_AUTH_SOCK, SSH_TTY: they end with the login


def launch(folder: str, script: str, log: str, record: Callable[[int, int], None]) -> None:
    """Start the script in a new session. `record(pid, start)` is called before its first instruction runs.

    So there is never a running server that is not written down: when we die in between, the child reads the end of
    the pipe instead of the word to go, and ends. Raises: HostError when it could not be started.
    """
    bash = which("bash") or "/bin/bash"
    if not os.path.exists(bash):
        raise HostError("missing", "there is no bash on this host", "install bash there")
    told, tell = os.pipe()
    go, say_go = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(told)
            os.close(say_go)
            if os.fork() == 0:
                _become([bash, script], folder, log, tell, go)
        os._exit(0)
    os.close(tell)
    os.close(go)
    os.waitpid(child, 0)
    try:
        pid = int(os.read(told, 20) or b"0")
        seen = proc.stat(pid)
        if not seen:
            raise HostError("internal", "the launch script could not be forked", "see the host's process limits")
        record(pid, seen.start)
        os.write(say_go, b"!")
        trouble = os.read(told, 4096).decode("utf-8", "replace")  # ends empty with a successful exec
        if trouble:
            raise HostError("internal", f"{bash} {script} could not be started: {trouble}", "see the host's log folder")
    finally:
        os.close(told)
        os.close(say_go)


def _become(argv: List[str], folder: str, log: str, tell: int, go: int) -> None:
    """In the grandchild: leave everything behind, wait for the word, become the script. Never returns."""
    try:
        os.setsid()
        os.write(tell, b"%-20d" % os.getpid())
        if not os.read(go, 1):
            os._exit(1)
        os.chdir(folder)
        _redirect(log)
        _signals()
        for fd in [int(name) for name in os.listdir("/proc/self/fd")]:
            if fd > 2 and fd != tell:
                with contextlib.suppress(OSError):
                    os.close(fd)
        os.execve(argv[0], argv, environment())
    except BaseException as error:
        os.write(tell, f"{type(error).__name__}: {error}".encode()[:4000])
    finally:
        os._exit(127)


def environment() -> Dict[str, str]:
    """The login's environment without what belongs to the login."""
    return {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}


def _redirect(log: str) -> None:
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(out, 2)


def _signals() -> None:
    """Python ignores SIGPIPE and SIGXFSZ, and an ignored signal stays ignored in whatever is started."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
