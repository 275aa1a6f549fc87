"""Everybody's leases: one file for each user of this host in the folder that they share, written by nobody else.

Whose a file is, its owner tells and not what stands in it; links are not followed.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time

from . import proc
from .leaseplace import NAME, folder, locked
from .leaseshape import whole
from .state import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, List, Optional, Tuple

    from .state import Json

LARGEST = 256 << 10  # bytes of a file that is read
KEPT = 600.0  # seconds that one that ended or was taken over is remembered, so that its holder can be told


def now() -> float:
    """Seconds since this host was booted, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Book:
    """Everybody's leases. `own` and `taken` are this user's, to be changed in place; the others' are only read.

    `taken`: leases of others that this user has taken over: {"id", "by"}.
    """

    def __init__(self) -> None:
        self.own: List[Json] = []
        self.others: List[Json] = []
        self.taken: List[Json] = []
        self.file: Optional[str] = None  # this user's, when there is one

    def leases(self) -> List[Json]:
        """All of them."""
        return self.own + self.others

    def content(self) -> Json:
        """What this user's file has to hold."""
        return {"boot": proc.boot_id(), "leases": self.own, "taken": self.taken}


def read(home: Home) -> Book:
    """Everybody's leases as they stand now."""
    path = folder(home, make=False)
    return _read(path) if path else Book()


@contextlib.contextmanager
def changing(home: Home) -> Iterator[Book]:
    """The same, for this user's part to be changed in place, while nobody else changes his."""
    path, lock = locked(home)
    try:
        book = _read(path)
        before = json.dumps(book.content())
        yield book
        if book.own or book.taken:
            if json.dumps(book.content()) != before or book.file is None:
                _write(path, book)
        else:
            _clear(path, book)
    finally:
        os.close(lock)


def _clear(path: str, book: Book) -> None:
    """Nothing of this user's is left there, and no folder that nobody needs."""
    if book.file is not None:
        os.unlink(book.file)
    if os.path.basename(path) == NAME:
        with contextlib.suppress(OSError):  # others' files are in it
            os.rmdir(path)


def _read(path: str) -> Book:
    book, uid = Book(), os.getuid()
    taken: Dict[str, str] = {}
    for name in sorted(os.listdir(path)):
        if not name.startswith("leases-"):
            continue
        file = os.path.join(path, name)
        owner, found = _file(file)
        taken.update({each["id"]: each["by"] for each in found["taken"]})
        if owner == uid:
            book.file, book.own, book.taken = file, found["leases"], found["taken"]
        else:
            book.others += found["leases"]
    for lease in book.leases():
        if lease["id"] in taken:
            lease["taken_by"] = taken[lease["id"]]
    known = {lease["id"] for lease in book.others}
    book.taken = [each for each in book.taken if each["id"] in known]
    return book


def _file(path: str) -> Tuple[int, Json]:
    """(owner, content) of a file. One that is no file, damaged, or of another boot holds nothing."""
    nothing: Json = {"leases": [], "taken": []}
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return -1, nothing
    with os.fdopen(fd, "rb") as file:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode):
            return -1, nothing
        try:
            found = json.loads(file.read(LARGEST).decode("utf-8"))
            if found["boot"] != proc.boot_id():
                return seen.st_uid, nothing
            leases = [lease for lease in map(whole, found["leases"]) if lease]
            taken = [{key: str(each[key]) for key in ("id", "by")} for each in found["taken"]]
            return seen.st_uid, {"leases": [lease for lease in leases if lease["until"] + KEPT > now()], "taken": taken}
        except (ValueError, KeyError, TypeError, RecursionError):
            return seen.st_uid, nothing


def _write(path: str, book: Book) -> None:
    """Whole or not at all, readable by all, under a name that nobody can have put there before."""
    beside = os.path.join(path, f".{os.getpid()}-{os.urandom(6).hex()}")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o644)  # whatever the umask says
            file.write(json.dumps(book.content()).encode() + b"\n")
        os.replace(beside, book.file or os.path.join(path, f"leases-{os.urandom(6).hex()}.json"))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
