"""stdin/stdout ↔ a host's port, from inside the lab's user and network namespaces: a ProxyCommand.

Runs as a file of its own. Arguments: the lab.json that names the namespaces' holder, address, port.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import socket
import sys
from pathlib import Path

CHUNK = 65536


def main() -> None:
    state, address, port = sys.argv[1:4]
    try:
        _enter(json.loads(Path(state).read_text())["holder"]["pid"])
        peer = socket.create_connection((address, int(port)), timeout=10)
    except (OSError, KeyError, TypeError, ValueError) as error:
        sys.exit(f"lab host {address}:{port} cannot be reached: {error}; is the lab up? inv lab.status")
    peer.settimeout(None)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _relay(peer)


def _enter(holder: int) -> None:
    """Join the holder's user namespace first: it gives the right to join the other."""
    libc = ctypes.CDLL(None, use_errno=True)
    for kind in ("user", "net"):
        namespace = os.open(f"/proc/{holder}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        if libc.setns(namespace, 0):
            raise OSError(ctypes.get_errno(), f"entering its {kind} namespace: {os.strerror(ctypes.get_errno())}")
        os.close(namespace)


def _relay(peer: socket.socket) -> None:
    waiting = selectors.DefaultSelector()
    waiting.register(peer, selectors.EVENT_READ)
    with contextlib.suppress(PermissionError):  # stdin is a file or /dev/null: nothing will come
        waiting.register(0, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is peer:
                received = peer.recv(CHUNK)
                if not received:
                    return
                _write_all(received)
            else:
                typed = os.read(0, CHUNK)
                if typed:
                    peer.sendall(typed)
                else:
                    waiting.unregister(0)
                    peer.shutdown(socket.SHUT_WR)


def _write_all(received: bytes) -> None:
    while received:
        received = received[os.write(1, received) :]


if __name__ == "__main__":
    main()
