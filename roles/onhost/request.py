"""stdin -> the request (one line of JSON) and, for `follow`, the commands after it."""

from __future__ import annotations

import json
import os
import re
import select

from .problems import HostError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

LONGEST = 32 * 1024 * 1024  # bytes of one line
RUN_ID = r"[A-Za-z0-9][A-Za-z0-9._@,-]{0,150}"  # it becomes the name of a folder


class Lines:
    """Lines of a file descriptor, with a wait that also ends when another descriptor has something."""

    def __init__(self, fd: int = 0) -> None:
        self.fd, self._rest, self.closed = fd, b"", False

    def next(self, wait: Optional[float] = None, wake: Optional[int] = None) -> Optional[bytes]:
        """The next line, or None: nothing yet within `wait` seconds, or woken, or the other side closed."""
        while b"\n" not in self._rest and not self.closed:
            ready, _, _ = select.select([self.fd] + ([] if wake is None else [wake]), [], [], wait)
            if self.fd not in ready:
                return None
            block = os.read(self.fd, 65536)
            self.closed = not block or len(self._rest) > LONGEST
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\n")
        return line or None

    def waiting(self) -> bool:
        """Whether something is there to be read, or the other side has closed."""
        return bool(self._rest or self.closed or select.select([self.fd], [], [], 0)[0])


class Request:
    """The fields of a request, each asked for by its type. Raises: HostError naming the key that is wrong."""

    def __init__(self, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise HostError("bad-request", "the request is not a JSON object", "this is a fault of the client")
        self.fields = fields

    @classmethod
    def read(cls, line: Optional[bytes]) -> Request:
        """A line -> a request."""
        try:
            return cls(json.loads((line or b"").decode("utf-8")))
        except ValueError as error:
            message = f"the request is not one line of JSON: {error}"
            raise HostError("bad-request", message, "send one JSON object and a newline on stdin") from None

    def _get(self, key: str, kinds: Any, name: str, default: Any, needed: bool) -> Any:
        value = self.fields.get(key)
        if value is None:
            if needed:
                raise HostError("bad-request", f"the request lacks `{key}` ({name})")
            return default
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise HostError("bad-request", f"`{key}` of the request is {value!r}: expected {name}")
        return value

    def text(self, key: str, default: Optional[str] = None) -> str:
        """A string; needed when there is no default."""
        return str(self._get(key, (str,), "a text", default, default is None))

    def number(self, key: str, default: Optional[float] = None) -> float:
        """A number; needed when there is no default."""
        return float(self._get(key, (int, float), "a number", default, default is None))

    def maybe(self, key: str, kind: Any) -> Any:
        """A value of this kind, or None."""
        return self._get(key, (kind,), kind.__name__, None, False)

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        return bool(self._get(key, (bool,), "true or false", default, False))

    def many(self, key: str, kind: Any) -> Any:
        """A list of values of this kind; absent means empty."""
        values = self._get(key, (list, tuple), "a list", [], False)
        if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            raise HostError("bad-request", f"`{key}` of the request is not a list of {kind.__name__}")
        return list(values)

    def run_id(self) -> str:
        """The run's id, safe as the name of a folder."""
        run = self.text("run")
        if not re.fullmatch(RUN_ID, run):
            raise HostError("bad-request", f"`run` is {run!r}: letters, digits and . _ - @ , only")
        return run
