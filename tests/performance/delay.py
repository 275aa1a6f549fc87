"""A TCP relay that holds every byte back for a while each way: a near host, as slow to reach as a far one."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterator
from typing import TypeAlias

Held: TypeAlias = "queue.SimpleQueue[tuple[float, bytes]]"  # when it may go on, and what


class Relay:
    """Listens on 127.0.0.1 and passes on to `target`, each way after `delay` seconds.

    A connection's handshake takes a round trip too: nothing is passed on before that.
    """

    def __init__(self, target: tuple[str, int], delay: float) -> None:
        self.target, self.delay = target, delay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        """As a handshake has it: the client may speak after one trip, the server hears of it half a trip later."""
        to_far: Held = queue.SimpleQueue()
        to_near: Held = queue.SimpleQueue()
        time.sleep(2 * self.delay)
        threading.Thread(target=self._take, args=(near, to_far), daemon=True).start()
        time.sleep(self.delay)
        far = socket.create_connection(self.target)
        self._open += [near, far]
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._take, args=(far, to_near), daemon=True).start()
        threading.Thread(target=self._give, args=(far, to_far), daemon=True).start()
        threading.Thread(target=self._give, args=(near, to_near), daemon=True).start()

    def _take(self, source: socket.socket, held: Held) -> None:
        data = b"?"
        while data:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            held.put((time.monotonic() + self.delay, data))

    @staticmethod
    def _give(sink: socket.socket, held: Held) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = held.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)

    def close(self) -> None:
        """End it and what goes through it."""
        for each in self._open:
            each.close()


@contextlib.contextmanager
def relayed(target: tuple[str, int], delay: float) -> Iterator[int]:
    """The port of a relay, for as long as the block runs."""
    relay = Relay(target, delay)
    try:
        yield relay.port
    finally:
        relay.close()
