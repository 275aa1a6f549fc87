"""A slow line to a lab host: a link of its own on which every packet takes its time, acknowledgements included."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from roles.lab.commands import need
from roles.lab.host import LabHost
from roles.lab.keys import known_hosts_line
from roles.lab.namespace import NamespaceHost
from tests.hosts.reach import shell

TUNSETIFF, IFF_TUN_NO_PI = 0x400454CA, 0x1001
CLONE_NEWNET = 0x40000000
LARGEST = 65536


@contextmanager
def line(host: LabHost, round_trip: float, folder: Any) -> Iterator[dict[str, Any]]:
    """Gives what an inventory says of the host on this line; `round_trip`: seconds."""
    if not isinstance(host, NamespaceHost) or host.proxy or not os.access("/dev/net/tun", os.W_OK):
        pytest.skip("a slow line needs root and /dev/net/tun")
    near, far = f"10.201.{host.number}.1", f"10.201.{host.number}.2"
    name = f"slow{host.folder.tag}{host.number}"
    with ExitStack() as stack:
        here = stack.enter_context(os.fdopen(_tun(name), "r+b", buffering=0))
        there = stack.enter_context(os.fdopen(_tun_in(host, "slow0"), "r+b", buffering=0))
        subprocess.run([need("ip"), "addr", "add", near, "peer", far, "dev", name], check=True)
        subprocess.run([need("ip"), "link", "set", name, "up"], check=True)
        shell(host, f"ip addr add {far} peer {near} dev slow0; ip link set slow0 up")
        over = threading.Event()
        for source, target in ((here, there), (there, here)):
            args = (source.fileno(), target.fileno(), round_trip / 2, over)
            thread = threading.Thread(target=_carry, args=args, daemon=True)
            thread.start()
            stack.callback(thread.join)
        stack.callback(over.set)
        known = folder / f"known_slow{host.number}"
        known.write_text(known_hosts_line([far], host.port, host.home / "host_key"))
        yield {"address": far, "internal": host.address, "known_hosts": str(known)}


def _tun(name: str) -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN_NO_PI))
    return fd


def _tun_in(host: LabHost, name: str) -> int:
    """The same in the host's network namespace; a thread of its own goes there and ends."""
    assert host.process is not None
    pid, made = host.process.pid, []

    def enter() -> None:
        namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        _setns(namespace)
        made.append(_tun(name))
        os.close(namespace)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    return made[0]


def _setns(namespace: int) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _carry(source: int, target: int, seconds: float, over: threading.Event) -> None:
    """Each packet goes on so many seconds after it came."""
    waiting: deque[tuple[float, bytes]] = deque()
    while not over.is_set():
        wait = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.1
        if select.select([source], [], [], wait)[0]:
            waiting.append((time.monotonic() + seconds, os.read(source, LARGEST)))
        while waiting and waiting[0][0] <= time.monotonic():
            os.write(target, waiting.popleft()[1])
