"""Which processes belong to an sshd on an address of its own.

Its sessions overwrite their environment with their title: they are known by the
connection they hold, and what they started by its environment or by descent.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from roles.lab.process import all_pids, parent


def holders(address: str, port: int) -> list[int]:
    """The processes that hold a connection to `address`:`port` from its server's side, or listen there."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(address, port)}
    return [pid for pid in all_pids() if wanted and not wanted.isdisjoint(_open_files(pid))]


def with_descendants(pids: Iterable[int]) -> set[int]:
    """`pids` and all that descends from them."""
    parents = {pid: parent(pid) for pid in all_pids()}
    found, size = set(pids), -1
    while len(found) != size:
        size = len(found)
        found |= {pid for pid, of in parents.items() if of in found}
    return found


def _inodes(address: str, port: int) -> set[str]:
    """Field 10 of the lines of /proc/net/tcp whose local end it is (proc(5)), in this machine's byte order."""
    (number,) = struct.unpack("=I", socket.inet_aton(address))
    local = f"{number:08X}:{port:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[1] == local} - {"0"}


def _open_files(pid: int) -> set[str]:
    try:
        return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:  # gone meanwhile, or another user's
        return set()
