"""What `inv watch` prints: a line with the local time for each change, or one JSON object a line."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from rich.text import Text

from roles.view.console import console
from roles.watch import Board, Change, Verdict


class Changes:
    """An observer that prints what changes, on stdout: it is what was asked for."""

    def __init__(self, deployment: str, *, as_json: bool) -> None:
        self._deployment, self._json, self._console, self._said = deployment, as_json, console(), ""

    def step(self, text: str) -> None:
        """A word about the deployment as a whole."""
        self._said = text
        self._line(time.time(), self._deployment, None, text)

    def board(self, board: Board, changes: Sequence[Change], now: float) -> None:
        """A line for each change."""
        for change in changes:
            self._line(change.time, change.host, change.label, change.text)

    def end(self, verdict: Verdict) -> None:
        """How it ended, unless just that was said already, and why: the cause, what to do, the log's own words."""
        if verdict.ending != self._said:
            self.step(verdict.ending)
        if self._json:
            return
        parts = ("cause", [verdict.cause]), ("host", verdict.witnesses), ("do", [verdict.do]), ("log", verdict.evidence)
        for title, lines in parts:
            for line in lines:
                if line and line not in verdict.sentence:
                    self._console.print(Text(f"  {title:<6}{line}", style="dim" if title == "log" else ""))

    def _line(self, at: float, host: str, label: str | None, text: str) -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
        if self._json:
            print(json.dumps({"time": round(at, 3), "host": host, "rank": label, "text": text}), flush=True)
        else:
            self._console.print(Text(f"{stamp}  {host}  {label or '-'}  {text}"))
