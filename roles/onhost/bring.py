"""The packed program -> its place on a host that lacks it, whole or not at all. Sent there as text when it is needed.

Understood by every Python, so that an old one can say so itself.
"""

import hashlib
import json
import os


def bring(stream, path, size, digest):  # type: ignore[no-untyped-def]  # Python 2 reads it too
    """`size` bytes of an unbuffered stream -> the file `path`, if that is their sha256. Ends the process if not."""
    content = b""
    while len(content) < size:
        block = stream.read(size - len(content))
        if not block:
            os._exit(1)  # the client has gone
        content += block
    try:
        found = hashlib.sha256(content).hexdigest()
        if found != digest:
            raise EnvironmentError(0, "its sha256 is %s here, expected %s" % (found, digest))
        place(path, content)  # type: ignore[no-untyped-call]
    except EnvironmentError as error:
        frame = {"f": "error", "code": "internal", "do": "is there space, and may this user write there?"}
        frame["message"] = "%s could not be written: %s" % (path, error.strerror)
        os.write(1, json.dumps(frame).encode("ascii") + b"\n")
        os._exit(1)


def place(path, content):  # type: ignore[no-untyped-def]
    """Beside its place first, then renamed; for its owner only."""
    os.umask(0o077)
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, 0o700)
    except EnvironmentError:  # it is there, or somebody who brings the program too has made it this moment
        if not os.path.isdir(folder):
            raise
    # Hosts may share this folder, and containers their numbers; one that lost its power has left its own.
    part = "%s.%d-%s.part" % (path, os.getpid(), hashlib.sha256(os.urandom(16)).hexdigest()[:12])
    try:
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(fd)
        os.rename(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)
