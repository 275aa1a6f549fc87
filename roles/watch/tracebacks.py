"""Which lines belong to which traceback, and whose it is: the rank whose line began it, or nobody's. Never a guess."""

from __future__ import annotations

import re
from typing import Literal

from roles.watch.line import Line

BEGIN = "Traceback (most recent call last):"
EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: |$)")
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
_OUTSIDE = re.compile(r"/\S+\.py:\d+: \w+Warning: |nanobind: |Process \S+:$|See https://nanobind")


class Tracebacks:
    """The traceback that is open at this place of a log, if one is."""

    def __init__(self) -> None:
        self._serial = 0
        self._open: Line | None = None  # the line that began it
        self._phase: Literal["body", "raised", "chained"] = "body"
        self._torn = False  # two were open at once: further lines belong to nobody for certain

    def headed(self, line: Line) -> Line:
        """A line with a head of its own: it may begin a traceback; it ends one that has had its exception."""
        if line.text.endswith(BEGIN):
            return self._begun(line)
        if self._phase != "body":
            self._closed()
        return line

    def headless(self, line: Line) -> Line:
        """A line without a head: body of the open traceback, begin of one that nobody introduces, or neither."""
        if line.text.startswith(BEGIN) and not (self._open and self._phase == "chained"):
            return self._begun(line._replace(source="traceback"))
        if self._open is None or line.source != "raw":
            return line
        if _OUTSIDE.match(line.text):
            self._closed()
            return line
        return self._body(line, self._open)

    def _begun(self, line: Line) -> Line:
        self._torn = self._open is not None and self._phase == "body"
        self._serial += 1
        self._phase = "body"
        self._open = line._replace(block=self._serial)
        return self._open

    def _body(self, line: Line, begun: Line) -> Line:
        if line.text.startswith(BEGIN):
            self._phase = "body"
        elif line.text.startswith(_CHAIN):
            self._phase = "chained"
        elif EXCEPTION.match(line.text):
            self._phase = "raised"
        axes, block = ((), 0) if self._torn else (begun.axes, begun.block)
        return line._replace(source="traceback", axes=axes, block=block)

    def _closed(self) -> None:
        self._open, self._phase, self._torn = None, "body", False
