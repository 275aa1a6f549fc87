"""A deploy inside the test's own process, watched by the test: when was what on the board?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from roles.inventory import load
from roles.ledger import Ledger
from roles.plan import plan_for
from roles.server.deploy import Options, Report, deploy
from roles.watch import Board, Change
from tests.hosts.clone import eventually


class Watched:
    """Runs a deploy in a thread and keeps every board with the moment at which it was shown (epoch seconds)."""

    def __init__(self, root: Path, host: str, profile: str, *, keep: bool = False) -> None:
        inventory = load(root)
        self.plan = plan_for(inventory.profile(profile), inventory.hosts(host))
        self.ledger = Ledger(root)
        self.boards: list[tuple[float, Board]] = []
        self.changes: list[Change] = []
        self.steps: list[str] = []
        self.said: list[tuple[float, str]] = []  # the steps with their moments (epoch seconds)
        self.ended = 0.0
        self._outcome: list[Report | BaseException] = []
        self._options = Options(keep=keep)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def step(self, text: str) -> None:
        """As an Observer."""
        self.steps.append(text)
        self.said.append((time.time(), text))

    def board(self, board: Board, changes: Sequence[Change], now: float) -> None:
        """As an Observer."""
        self.boards.append((now, board))
        self.changes += changes

    def _run(self) -> None:
        try:
            self._outcome.append(deploy(self.plan, self, self.ledger, self._options))
        except BaseException as error:
            self._outcome.append(error)
        self.ended = time.time()

    def report(self, within: float = 60.0) -> Report:
        """How it ended."""
        self._thread.join(within)
        assert self._outcome, f"still running after {within:.0f} s; last steps: {self.steps[-3:]}"
        outcome = self._outcome[0]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def until(self, true: Callable[[Board], Any], within: float = 30.0) -> float:
        """The moment at which a board was first shown of which this is true; waits for it."""

        def first() -> float:
            return next((now for now, board in list(self.boards) if true(board)), 0.0)

        return eventually(first, within)
