"""What SSH runs over: a TCP socket that waits for nothing, or a local command (ProxyCommand).

TCP: neither Nagle's wait nor delayed acknowledgements. Paramiko sets neither option; together they cost about 40 ms
for each request on a connection (measured).
"""

from __future__ import annotations

import atexit
import contextlib
import socket
import subprocess
import tempfile
from typing import Any

from roles.remote.cores import apart

TCP_QUICKACK = getattr(socket, "TCP_QUICKACK", None)  # Linux only
AHEAD = 65536  # bytes read at once
LAST_WORDS = 1.0  # seconds that a command whose output has ended is given to end itself


class Wire:
    """A connected socket with TCP_NODELAY; TCP_QUICKACK is set again after each read, as Linux clears it."""

    def __init__(self, address: str, port: int, timeout: float) -> None:
        self._socket = socket.create_connection((address, port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ahead = b""  # read from the socket already: Paramiko asks for each packet in two or three pieces
        self._at = 0

    def recv(self, size: int) -> bytes:
        """Read up to `size` bytes."""
        if self._at == len(self._ahead):
            self._ahead, self._at = self._socket.recv(AHEAD), 0
            if TCP_QUICKACK is not None:
                self._socket.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, 1)
        data = self._ahead[self._at : self._at + size]
        self._at += len(data)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


class Piped:
    """A local command whose standard input and output are the connection, as OpenSSH runs a ProxyCommand.

    Paramiko's own one does not notice when the command ends; a socket pair does, at once.
    """

    def __init__(self, command: str) -> None:
        self.command = command
        self._socket, theirs = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the connection)
        with theirs:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._said,
                start_new_session=True,  # Ctrl-C is for us: what the command carries must still be said good-bye to
            )
        apart(self._process.pid)
        atexit.register(self._process.terminate)  # a command may end while a thread still waits for this one

    def why(self) -> str | None:
        """How the command ended, in words; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS)
        if self._process.poll() is None:
            return None
        self._said.seek(0)
        last = self._said.read().decode(errors="replace").strip().splitlines()[-1:]
        return f"ended with status {self._process.returncode}" + (f", saying: {last[0][:300]}" if last else "")

    def close(self) -> None:
        """End the connection and the command."""
        atexit.unregister(self._process.terminate)
        self._socket.close()
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LAST_WORDS)
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)
