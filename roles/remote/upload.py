"""Bytes -> a file on the host, whole or not at all: temporary name, size and sha256 checked there, then renamed."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shlex
from typing import TYPE_CHECKING

import paramiko

from roles.inventory.errors import AllranksError

if TYPE_CHECKING:
    from roles.remote.remote import Remote

# Runs on the host. Arguments: target, sha256, mode, and the uploaded temporary file or "-" for bytes on stdin.
# It carries no single quote, so that one pair of them quotes it for any shell.
PLACE = """
import contextlib, hashlib, os, shutil, sys
target, digest, mode, source = sys.argv[1:5]
os.umask(0o077)
target, source = os.path.expanduser(target), os.path.expanduser(source)
os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
part = target + ".%d.part" % os.getpid()
try:
    if source == "-":
        source = part
        with open(part, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    else:
        try:
            os.rename(source, part)
        except OSError:  # another file system, or another mount of the same one
            shutil.copyfile(source, part)
    with open(part, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
        os.fsync(file.fileno())
    if found != digest:
        sys.exit("sha256 is %s, expected %s" % (found, digest))
    os.chmod(part, int(mode, 8))
    os.replace(part, target)
finally:
    for left in (part, source):
        with contextlib.suppress(OSError):
            os.unlink(left)
"""


def put(remote: Remote, path: str, content: bytes, mode: int) -> None:
    """Put `content` at `path` on the host (`~/` is the home there) with these permission bits.

    SFTP where the host has the subsystem, else the same bytes on a plain channel; either way the host checks the
    digest of what arrived before the file gets its name.

    Raises: Unreachable, AllranksError with the host, the path and what went wrong.
    """
    temporary = by_sftp(remote, content)
    source = temporary or "-"
    digest = hashlib.sha256(content).hexdigest()
    words = [remote.host.python, "-c", PLACE.strip(), path, digest, format(mode, "o"), source]
    channel = remote.channel()
    channel.settimeout(60.0)
    channel.exec_command("exec " + shlex.join(words))
    if temporary is None:
        channel.sendall(content)
    channel.shutdown_write()
    said = b""
    while data := channel.recv_stderr(65536):
        said += data
    status = channel.recv_exit_status()
    if status != 0:
        last = (said.decode(errors="replace").strip().splitlines() or ["no word of why"])[-1]
        raise AllranksError(
            f"{remote.host.name}: {path} could not be written: {last}",
            do="correct `python` in the inventory"
            if status in (126, 127)
            else "is there space, and may this user write there?",
        )


def open_sftp(remote: Remote) -> paramiko.SFTPClient | None:
    """SFTP on a channel of its own; None when the host has no such subsystem, or a noisy shell breaks its greeting."""
    try:
        return paramiko.SFTPClient.from_transport(remote.connection().transport)
    except (paramiko.SSHException, paramiko.SFTPError, EOFError, OSError):
        return None


def by_sftp(remote: Remote, content: bytes) -> str | None:
    """Upload to a temporary name in the home directory; None when that cannot be done this way.

    No subsystem, or a home that is full or may not be written: the plain channel then goes to the file's own folder.
    """
    name = f".allranks-{os.getpid()}-{base64.b32encode(os.urandom(5)).decode().lower()}.part"
    sftp = open_sftp(remote)
    if sftp is None:
        return None
    try:
        with sftp.open(name, "wb") as file:
            file.set_pipelined(True)
            file.write(content)
        return f"~/{name}"
    except OSError:
        with contextlib.suppress(OSError):
            sftp.remove(name)
        return None
    finally:
        sftp.close()
