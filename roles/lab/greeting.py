"""Whether an SSH server greets: the first thing it sends is its version, `SSH-2.0-...` (RFC 4253, 4.2)."""

from __future__ import annotations

import select
import socket
import subprocess
from collections.abc import Sequence

GREETING = b"SSH-"
SECONDS = 2.0
THROUGH_SECONDS = 10.0  # a relay has to start first, and ends by itself when it cannot connect


def at(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=SECONDS) as sshd:
            return sshd.recv(len(GREETING)) == GREETING
    except OSError:
        return False


def through(proxy: Sequence[str]) -> bool:
    """The same by a ProxyCommand."""
    with subprocess.Popen(proxy, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as relay:
        assert relay.stdout
        came = select.select([relay.stdout], [], [], THROUGH_SECONDS)[0]
        said = relay.stdout.read(len(GREETING)) if came else b""
        relay.kill()
    return said == GREETING
