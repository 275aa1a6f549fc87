"""Something begun in a thread before anybody needs it; what goes wrong is kept for whoever takes it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class AbandonedError(Exception):
    """Whoever waited for it is told that nobody wants it any more."""


class Warming(Generic[T]):
    """A job in a daemon thread. `dispose`: what becomes of its value when nobody wants it any more."""

    def __init__(self, name: str, job: Callable[[], T], dispose: Callable[[T], None]) -> None:
        self._job, self._dispose = job, dispose
        self._lock, self._over = threading.Lock(), threading.Event()
        self._value: list[T] = []
        self._error: Exception | None = None
        # A daemon: a command that ends meanwhile does not wait for a host that says nothing.
        threading.Thread(target=self._run, name=f"warm-{name}", daemon=True).start()

    def take(self) -> T:
        """Wait for it. Raises: what the job raised; AbandonedError."""
        self._over.wait()
        with self._lock:
            if self._error is not None:
                raise self._error
            return self._value.pop()

    def abandon(self) -> None:
        """Nobody wants it: who waits for it is let go at once, and it is disposed of when it is there."""
        with self._lock:
            self._error = self._error or AbandonedError()
            self._over.set()
            unwanted = [*self._value]
            self._value.clear()
        for value in unwanted:
            self._dispose(value)

    def _run(self) -> None:
        try:
            value = self._job()
        except Exception as error:
            with self._lock:
                self._error = self._error or error
                self._over.set()
            return
        with self._lock:
            wanted = self._error is None
            if wanted:
                self._value.append(value)
            self._over.set()
        if not wanted:
            with contextlib.suppress(Exception):
                self._dispose(value)
