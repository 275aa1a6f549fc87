"""What can go wrong on a host -> one error frame: a code, a sentence and what to do. Never a traceback."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WHAT_TO_DO = {
    errno.ENOSPC: "free space there (df -h), then try again",
    errno.EDQUOT: "free space within the quota there, then try again",
    errno.EACCES: "correct the owner or mode there, or set another `workdir` in the inventory",
    errno.EPERM: "log in as the user who owns it, or as root",
    errno.EROFS: "set a `workdir` on a file system that can be written",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EAGAIN: "raise the limit of processes (ulimit -u)",
}


class HostError(Exception):
    """An error for the operator. `code`: refused | missing | internal | bad-request."""

    def __init__(self, code: str, message: str, do: str = "", **more: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.do, self.more = code, message, do, more


def from_os(error: OSError) -> HostError:
    """A full disk, a missing right, a file that is not there: in words, with the path."""
    where = f"{error.filename}: " if error.filename else ""
    missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
    text = error.strerror or (os.strerror(error.errno) if error.errno else str(error))
    do = WHAT_TO_DO.get(error.errno or 0, "look at that path on the host")
    return HostError("missing" if missing else "internal", where + text, do)


def fault(error: BaseException) -> HostError:
    """A fault of this program: what and where, in one line."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}" if at else "?"
    return HostError("internal", f"{type(error).__name__} at {where}: {error}"[:500], "report this line")
