"""/proc -> processes. A process is (pid, start ticks): a number alone may have been given to another one since."""

from __future__ import annotations

import os
import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Optional

TICKS = os.sysconf("SC_CLK_TCK")  # clock ticks per second
PAGE = os.sysconf("SC_PAGE_SIZE")  # bytes
LONGEST_TITLE = 300  # characters of a command line that leave the host
SECRET_NAME = r"(?i:api[-_]?key|token|secret|password|passwd|credential)"
SECRET_FLAG = "--?[\\w.-]*" + SECRET_NAME
SECRET_PAIR = "(?s)^(.*?" + SECRET_NAME + "[\"']?\\s*[=:])\\s*(?=\\S).*$"
SECRET_SHAPE = r"(?:\b(?:hf_|sk-)[A-Za-z0-9_-]{16,}|(?<=Bearer )\S+)"
# One of these is in whatever the patterns find: without them none needs to be compiled (1 ms).
SECRET_HINTS = ("key", "token", "secret", "passw", "cred", "hf_", "sk-", "bearer")


class Stat:
    """The fields of /proc/PID/stat that matter here (proc(5): 1-4, 6, 14+15, 22, 24, 52).

    `ticks`: CPU time, user and system. `start`: ticks after boot. `pages`: resident. `status`: wait status of one that
    has ended; 0 where that may not be seen.
    """

    __slots__ = ("comm", "pages", "pid", "ppid", "session", "start", "state", "status", "ticks")

    def __init__(
        self, pid: int, comm: str, state: str, ppid: int, session: int, ticks: int, start: int, pages: int,
        status: int = 0,
    ) -> None:  # fmt: skip
        self.pid, self.comm, self.state, self.ppid, self.session = pid, comm, state, ppid, session
        self.ticks, self.start, self.pages, self.status = ticks, start, pages, status

    @property
    def dead(self) -> bool:
        """A zombie holds a number and nothing else."""
        return self.state in "ZXx"

    @property
    def signal(self) -> Optional[int]:
        """What ended it, while it is a zombie that a signal ended."""
        return self.status & 127 or None if self.dead else None

    @property
    def cpu_s(self) -> float:
        """CPU time used, seconds."""
        return round(self.ticks / TICKS, 2)

    @property
    def rss_mib(self) -> int:
        """Resident memory, MiB."""
        return self.pages * PAGE >> 20


def read(path: str, whole: bool = True) -> Optional[bytes]:
    """A file of /proc; None when the process is gone or not ours to see. `whole`: one read is not enough for it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        block = content = os.read(fd, 65536)
        while whole and block:
            block = os.read(fd, 65536)
            content += block
        return content
    except OSError:  # it ended between open and read
        return None
    finally:
        os.close(fd)


def stat(pid: int) -> Optional[Stat]:
    """What the kernel says of a process, or None when there is none."""
    raw = read(f"/proc/{pid}/stat", whole=False)
    if not raw:
        return None
    head, _, rest = raw.rpartition(b")")  # a name may hold blanks and brackets
    f = rest.split()
    comm = head.partition(b"(")[2].decode("utf-8", "backslashreplace")
    ticks, status = int(f[11]) + int(f[12]), int(f[49]) if len(f) > 49 else 0
    return Stat(pid, comm, f[0].decode(), int(f[1]), int(f[3]), ticks, int(f[19]), int(f[21]), status)


def io(pid: int) -> Dict[str, int]:
    """`rchar` (bytes read by calls), `read_bytes`, `write_bytes` (from and to disks) ...; {} when that is hidden."""
    raw = (read(f"/proc/{pid}/io", whole=False) or b"").decode("ascii", "replace")
    return {name: int(value) for name, _, value in (line.partition(": ") for line in raw.splitlines()) if value}


def bytes_read(pid: int) -> Optional[int]:
    """Bytes that it has read: by calls or, of files in its memory, from disks, whichever is more."""
    counts = io(pid)
    return max(counts.get("rchar", 0), counts.get("read_bytes", 0)) if counts else None


def pids() -> List[int]:
    """Every process number there is now."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def scan(numbers: Optional[Iterable[int]] = None) -> List[Stat]:
    """The processes there are, zombies too."""
    return [found for found in map(stat, pids() if numbers is None else numbers) if found]


def members(session: int) -> List[Stat]:
    """The processes of a session, zombies too.

    A host has a thousand others: to ask the kernel for the session of each takes a tenth of reading what it tells.
    """
    found = scan(pid for pid in pids() if _session(pid) in (session, None))
    return [each for each in found if each.session == session]


def _session(pid: int) -> Optional[int]:
    """None: it is gone, or may not be asked."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def arguments(pid: int, empty: bool = False) -> List[str]:
    """A process's arguments; one that renamed itself (setproctitle) has its title alone. `empty`: empty ones too."""
    raw = (read(f"/proc/{pid}/cmdline", whole=False) or b"").decode("utf-8", "backslashreplace")
    return [part for part in raw.split("\0")[: -1 if empty else None] if part or empty]


def redact(args: List[str]) -> List[str]:
    """The same arguments with whatever looks like a secret masked."""
    plain = " ".join(args).casefold()
    if not any(hint in plain for hint in SECRET_HINTS):
        return list(args)
    shown, hide = [], False
    for arg in args:
        shown.append("***" if hide else re.sub(SECRET_SHAPE, "***", re.sub(SECRET_PAIR, r"\1***", arg)))
        hide = bool(re.fullmatch(SECRET_FLAG, arg))
    return shown


def title(pid: int) -> str:
    """What `ps` shows of a process, without secrets and not longer than one wants to read."""
    return " ".join(redact(arguments(pid))).strip()[:LONGEST_TITLE]


def memory(row: bytes) -> Optional[int]:
    """A row of /proc/meminfo, in MiB."""
    _, _, rest = (read("/proc/meminfo") or b"").partition(row)
    return int(rest.split()[0]) >> 10 if rest else None


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Which start of this host this is. Asked once: this process does not outlive it.

    A container that is restarted keeps its kernel's boot id, but not its first process: that one's start is part of it.
    """
    kernel, first = (read("/proc/sys/kernel/random/boot_id") or b"").decode().strip(), stat(1)
    return f"{kernel}.{first.start}" if first else kernel  # hidepid hides it from ordinary users


def link(pid: int, name: str) -> str:
    """Where /proc/PID/NAME points, or "" when that may not be seen."""
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""


def uid(pid: int) -> Optional[int]:
    """Whose process it is, or None when it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
