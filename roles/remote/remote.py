"""One host: ask the on-host program a verb, get its frames. Nothing is decided here."""

from __future__ import annotations

import contextlib
import json
import shlex
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import fabric
import paramiko

from roles.inventory import Host
from roles.inventory.errors import AllranksError, Leased, Refused, Unreachable
from roles.onhost.pack import RUN, bringing, content_hash
from roles.remote.connect import CONNECT_TIMEOUT, close, open_connection
from roles.remote.frames import Frame, FrameReader
from roles.remote.warming import AbandonedError, Warming

BRING_WITHIN = 60.0  # seconds for the on-host program (75 KB) to be taken


class Remote:
    """A host's one connection. Opens when first used; every error names the host."""

    def __init__(self, host: Host, *, accept_new: bool = False, timeout: float = CONNECT_TIMEOUT) -> None:
        self.host = host
        self._accept_new, self._timeout = accept_new, timeout
        self._connection: fabric.Connection | None = None
        self._lock = threading.Lock()
        self._idle: paramiko.Channel | None = None  # the on-host program, waiting for a next request
        self._warming: Warming[tuple[fabric.Connection, paramiko.Channel]] | None = None
        self.shell_noise: list[str] = []  # what the login shell printed where frames were expected

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether a connection stands: it has been used, and was not closed."""
        return self._connection is not None

    def warm(self, verb: str) -> Remote:
        """Begin to connect and to start the on-host program, in a thread: the first verb finds it waiting.

        `verb`: what will be asked, so that its modules are loaded there meanwhile. What goes wrong is raised at the
        first use, as if it had come up there.
        """
        with self._lock:
            if self._warming is None and self._connection is None:
                self._warming = Warming(self.host.name, lambda: self._warmed(verb), lambda pair: close(pair[0]))
        return self

    def close(self) -> None:
        """Drop the connection; what runs on the host goes on."""
        if (warming := self._warming) is not None:
            warming.abandon()  # first: who waits for it has the lock
        with self._lock:
            self._warming = None
            connection, self._connection, self._idle = self._connection, None, None
        if connection is not None:
            close(connection)

    def connection(self) -> fabric.Connection:
        """The open connection. Raises: Unreachable."""
        with self._lock:
            self._take_warmed()
            if self._connection is None or not self._connection.is_connected:
                self._connection = open_connection(self.host, accept_new=self._accept_new, timeout=self._timeout)
            return self._connection

    def has_sftp(self) -> bool:
        """Whether the host's sshd has the SFTP subsystem. Nothing of allranks needs it."""
        try:
            sftp = paramiko.SFTPClient.from_transport(self.connection().transport)
        except (paramiko.SSHException, paramiko.SFTPError, EOFError, OSError):
            return False  # a noisy shell breaks its greeting, too
        if sftp is not None:
            sftp.close()
        return sftp is not None

    def sessions(self, wanted: int) -> int:
        """How many sessions of `wanted` its sshd lets this connection have at the same time (MaxSessions)."""
        channels: list[paramiko.Channel] = []
        try:
            while len(channels) < wanted:
                channels.append(self.connection().transport.open_session(timeout=self._timeout))
        except paramiko.ChannelException:
            pass
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise self._lost(error) from error
        finally:
            for channel in channels:
                with contextlib.suppress(Exception):
                    channel.close()
        return len(channels)

    def ask(self, verb: str, request: Mapping[str, Any], *, timeout: float = 60.0) -> list[Frame]:
        """Run a verb to its end and give its frames, without hello and end.

        Args: timeout: seconds without a single frame after which the host is called silent.
        Raises: Unreachable; Refused and AllranksError as the program on the host says.
        """
        return [
            frame for frame in self.stream(verb, request, silence=timeout) if frame["f"] not in ("hello", "end", "beat")
        ]

    def one(self, verb: str, request: Mapping[str, Any], kind: str, *, timeout: float = 60.0) -> Frame:
        """Run a verb and give its one frame of this kind."""
        for frame in self.ask(verb, request, timeout=timeout):
            if frame["f"] == kind:
                return frame
        raise AllranksError(f"{self.host.name}: the on-host program ended without its {kind!r} frame (verb {verb})")

    def stream(self, verb: str, request: Mapping[str, Any], *, silence: float = 60.0) -> Iterator[Frame]:
        """The frames of a verb as they come."""
        channel = self.start(verb, request)
        yield from self._frames(channel, verb, request, silence)

    def program(self) -> str:
        """Where the packed on-host program lies on the host, by its content."""
        return f"{self.host.workdir}/bin/onhost-{content_hash()}.pyz"

    def start(self, verb: str, request: Mapping[str, Any]) -> paramiko.Channel:
        """Send a verb's request to the on-host program; the frames are the caller's to read.

        One program serves one verb after the other on one channel: a channel costs two round trips, a start of Python
        40 ms. Whoever keeps the channel (a follower) has it to himself, and the next verb starts another.
        """
        with self._lock:
            self._take_warmed()
            idle, self._idle = self._idle, None
        line = line_of(verb, request)
        if idle is not None and not idle.closed and not idle.eof_received:
            with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
                idle.sendall(line)
                return idle
        channel = self.channel()
        try:
            channel.exec_command(self._serving(verb))
            channel.sendall(line)
        except (OSError, EOFError, paramiko.SSHException) as error:
            if not channel.exit_status_ready():  # an early end (no Python, no program) is told by its status
                raise self._lost(error) from error
        return channel

    def _serving(self, verb: str) -> str:
        """The command that starts the on-host program, which loads what `verb` needs while nothing is asked yet."""
        # -I and -S: the program is the standard library's alone, whatever the host's environment says.
        python = f"exec {shlex.quote(self.host.python)} -I -S -c {shlex.quote(RUN)}"
        return self._as_root(f"{python} {remote_path(self.program())} serve {verb}")

    def _warmed(self, verb: str) -> tuple[fabric.Connection, paramiko.Channel]:
        """A new connection and the program on it. Raises: Unreachable."""
        connection = open_connection(self.host, accept_new=self._accept_new, timeout=self._timeout)
        try:
            channel = connection.transport.open_session(timeout=self._timeout)
            with contextlib.suppress(paramiko.SSHException):  # ended at once: the next start says why
                channel.exec_command(self._serving(verb))
        except (OSError, EOFError, paramiko.SSHException) as error:
            close(connection)
            raise self._lost(error) from error
        return connection, channel

    def _take_warmed(self) -> None:
        """What was begun beforehand is ours now, or its error is raised. The lock is held."""
        if (warming := self._warming) is None:
            return
        try:
            self._connection, self._idle = warming.take()
        except AbandonedError as error:
            raise self._lost(error) from error
        except KeyboardInterrupt:
            warming.abandon()
            raise
        finally:
            self._warming = None

    def _as_root(self, command: str) -> str:
        """The command as it is, or by sudo: `~` is root's home then, and leases are where and from where they were."""
        if not self.host.sudo:
            return command
        # By way of a shell that is known: the login shell may be one that ends at a variable that is not set.
        leases = '${ALLRANKS_LEASES:+"ALLRANKS_LEASES=$ALLRANKS_LEASES"}'
        kept = f'SSH_CONNECTION="$SSH_CONNECTION" {leases}'
        return f"exec sh -c {shlex.quote(f'exec sudo -n -H env {kept} sh -c {shlex.quote(command)}')}"

    def channel(self) -> paramiko.Channel:
        """A new session on the connection. Raises: Unreachable."""
        try:
            return self.connection().transport.open_session(timeout=self._timeout)  # type: ignore[no-any-return]
        except (OSError, EOFError, paramiko.SSHException) as error:
            self.close()
            raise self._lost(error) from error

    def bring(self, channel: paramiko.Channel, verb: str, request: Mapping[str, Any]) -> None:
        """The host has said that it lacks the program: give it, and the request again, in one round trip.

        Its sha256 is checked there, and it gets its name only when it is whole. Raises: Unreachable.
        """
        before = channel.gettimeout()
        channel.settimeout(BRING_WITHIN)
        try:
            channel.sendall(bringing() + line_of(verb, request))
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise self._lost(error, " while the on-host program was sent") from error
        channel.settimeout(before)

    def _frames(
        self, channel: paramiko.Channel, verb: str, request: Mapping[str, Any], silence: float
    ) -> Iterator[Frame]:
        reader = FrameReader()
        channel.settimeout(silence)
        served = False
        try:
            while not reader.ended:
                try:
                    data = channel.recv(65536)
                except TimeoutError as error:
                    raise Unreachable(f"{self.host.name}: nothing came back for {silence:.0f} s ({verb})") from error
                if not data:
                    break
                for frame in reader.feed(data):
                    served = reader.ended
                    if frame["f"] == "error":
                        raise self.error(frame)
                    if frame["f"] == "missing":
                        self.bring(channel, verb, request)
                    else:
                        yield frame
            self.shell_noise = reader.noise
            self._check_end(channel, reader, verb)
        finally:
            self._give_back(channel, idle=served)

    def _give_back(self, channel: paramiko.Channel, *, idle: bool) -> None:
        """Keep the channel for the next verb, if this one was read to its end; else end the program on the host."""
        with self._lock:
            if idle and self._idle is None and self._connection is not None:
                self._idle = channel
                return
        with contextlib.suppress(Exception):
            channel.close()

    def _check_end(self, channel: paramiko.Channel, reader: FrameReader, verb: str) -> None:
        """Frames ended: was it the program's own end, a missing program, or a lost connection?"""
        if reader.ended:
            return
        status = exit_status(channel)
        said = stderr_of(channel)
        if status == -1:
            raise Unreachable(f"{self.host.name}: connection lost during {verb}")
        last = (said.strip().splitlines() or reader.noise or ["nothing"])[-1]
        if self.host.sudo and status in (126, 127) and "sudo" in last:
            do = "install it there, or take `sudo` out of the inventory"
            raise Refused(f"{self.host.name}: sudo cannot be run there: {last[:300]}", do=do)
        if last.startswith("sudo:"):
            do = "allow it without one (NOPASSWD in its sudoers), or take `sudo` out of the inventory"
            raise Refused(f"{self.host.name}: sudo -n does not work: {last[:300]}", do=do)
        raise AllranksError(
            f"{self.host.name}: {self.host.python} ended with status {status} during {verb}, saying: {last[:300]}",
            do="correct `python` in the inventory (3.8 or later is needed)" if status in (126, 127) else "",
        )

    def _lost(self, error: Exception, when: str = "") -> Unreachable:
        """Its sentence. Some exceptions have no words (EOFError): the far end closed it."""
        return Unreachable(f"{self.host.name}: connection lost{when}: {str(error) or 'closed'}")

    def error(self, frame: Frame) -> AllranksError:
        """The sentence of an error frame."""
        kind = {"refused": Refused, "leased": Leased}.get(str(frame.get("code")), AllranksError)
        do = str(frame.get("do") or "").replace("--host HOST", f"--host {self.host.name}")
        return kind(f"{self.host.name}: {frame.get('message')}", do=do)


def line_of(verb: str, request: Mapping[str, Any]) -> bytes:
    """A request as it is sent."""
    return json.dumps({**request, "verb": verb}).encode() + b"\n"


def remote_path(path: str) -> str:
    """A path on the host for a POSIX shell: `~/` is the home there, all else is quoted."""
    if path == "~" or path.startswith("~/"):
        return f'"$HOME"{shlex.quote(path[1:])}' if path != "~" else '"$HOME"'
    return shlex.quote(path)


def exit_status(channel: paramiko.Channel, wait: float = 5.0) -> int:
    """The command's exit status, -1 when the connection went before it came."""
    end = time.monotonic() + wait
    while not channel.exit_status_ready() and time.monotonic() < end:
        if not (channel.transport and channel.transport.is_active()):
            return -1
        channel.status_event.wait(0.05)
    return channel.recv_exit_status() if channel.exit_status_ready() else -1


def stderr_of(channel: paramiko.Channel, limit: int = 65536) -> str:
    """What the command wrote to its standard error, as far as it came."""
    said = b""
    while channel.recv_stderr_ready() and len(said) < limit:
        said += channel.recv_stderr(limit - len(said))
    return said.decode(errors="replace")
