"""A TCP port -> the sockets that listen on it, in this network namespace, IPv4 and IPv6.

The kernel is asked directly (sock_diag(7)), which costs 0.05 ms. Reading /proc/net/tcp walks the table of all
connections and takes 4 to 20 ms, too much for twice a second: it is the way where sock_diag is not to be had.
"""

from __future__ import annotations

import socket
import struct

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, List

NETLINK, SOCK_DIAG = 16, 4  # AF_NETLINK, NETLINK_SOCK_DIAG
BY_FAMILY, DUMP, DONE = 20, 0x301, 3  # SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, NLMSG_DONE
LISTEN = 10  # TCP_LISTEN
HEAD = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, pid
ASK = struct.Struct("=BBBxI2s42xI")  # inet_diag_req_v2: family, protocol, extensions, states, source port, ...
TOLD = struct.Struct("=BBxx2sxx16s40xII")  # inet_diag_msg: family, state, source port, address, ..., uid, inode
LOOPBACK = (bytes([127, 0, 0, 1]), bytes(15) + b"\1")


class Listener:
    """A listening socket. `address`: 4 or 16 bytes."""

    __slots__ = ("address", "inode", "uid")

    def __init__(self, inode: int, uid: int, address: bytes) -> None:
        self.inode, self.uid, self.address = inode, uid, address

    @property
    def order(self) -> int:
        """127.0.0.1 is where the probes go: a socket bound to just that gets them before one bound to every address."""
        return 0 if self.address in LOOPBACK else 2 if any(self.address) else 1


def listeners(port: int) -> List[Listener]:
    """The listening sockets of this port; the one that local requests reach comes first."""
    try:
        found = [each for family in (socket.AF_INET, socket.AF_INET6) for each in _asked(family, port)]
    except OSError:
        found = list(_read(port))
    return sorted(found, key=lambda each: each.order)


def _asked(family: int, port: int) -> Iterator[Listener]:
    """By sock_diag. Raises: OSError where that is not allowed or not built in."""
    wanted = struct.pack("!H", port)
    with socket.socket(NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, SOCK_DIAG) as link:
        link.settimeout(2)
        body = ASK.pack(family, socket.IPPROTO_TCP, 0, 1 << LISTEN, wanted, 0)
        link.send(HEAD.pack(HEAD.size + len(body), BY_FAMILY, DUMP, 1, 0) + body)
        while True:
            rest = link.recv(65536)
            while len(rest) >= HEAD.size:
                length, kind, _, _, _ = HEAD.unpack_from(rest)
                message, rest = rest[HEAD.size : length], rest[(length + 3) & ~3 :]
                if kind == DONE:
                    return
                if kind != BY_FAMILY:
                    raise OSError(f"sock_diag answers with message type {kind}")
                _, state, number, address, uid, inode = TOLD.unpack_from(message)
                if number == wanted and state == LISTEN:
                    yield Listener(inode, uid, address[: 4 if family == socket.AF_INET else 16])


def _read(port: int) -> Iterator[Listener]:
    """From /proc/net/tcp and tcp6."""
    needle = b":%04X " % port
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        raw = proc.read(path) or b""
        for line in raw.splitlines()[1:] if needle in raw else ():
            f = line.split()
            address, _, number = f[1].partition(b":")
            if int(f[3], 16) == LISTEN and int(number, 16) == port:
                words = bytes.fromhex(address.decode())  # 32-bit words in the machine's own byte order
                there = b"".join(
                    struct.pack("!I", *struct.unpack_from("=I", words, n)) for n in range(0, len(words), 4)
                )
                yield Listener(int(f[9]), int(f[7]), there)
