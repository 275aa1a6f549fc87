"""One job for each host, all at once, bounded; every host reports, whatever the others do."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from roles.inventory.errors import AllranksError
from roles.remote.cores import together

T = TypeVar("T")
Item = TypeVar("Item")

PARALLEL = 30  # connections opened at once; more than sshd's MaxStartups matter only on a shared jump host


@dataclass(frozen=True)
class Outcome(Generic[Item, T]):
    """What one host's job gave: a value, or the error that ended it."""

    item: Item
    value: T | None = None
    error: Exception | None = None

    def unwrap(self) -> T:
        """The value, or the error raised again."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # no error: the job returned it


def each(items: Sequence[Item], job: Callable[[Item], T], *, parallel: int = PARALLEL) -> list[Outcome[Item, T]]:
    """Run the job for every item at once (at most `parallel`), and give the outcomes in the items' order.

    An AllranksError becomes that item's outcome; anything else is a bug of ours and is raised when all have ended.
    Ctrl-C is raised at once: nothing more is begun, and who closes the connections ends what has begun.
    """
    if len(items) == 1:
        return [_outcome(items[0], job)]
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Outcome[Item, T] | BaseException]] = queue.SimpleQueue()
    for at in range(len(items)):
        todo.put(at)

    def work() -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                at = todo.get_nowait()
                try:
                    done.put((at, _outcome(items[at], job)))
                except BaseException as bug:
                    done.put((at, bug))

    try:
        # Daemons, and not an executor: that one's threads are waited for after Ctrl-C, for as long as a host takes.
        with together(len(items)):
            for _ in range(max(1, min(parallel, len(items)))):
                threading.Thread(target=work, daemon=True).start()
        found = dict(done.get() for _ in items)
    except BaseException:
        with contextlib.suppress(queue.Empty):
            while True:
                todo.get_nowait()
        raise
    return [_raised(found[at]) for at in range(len(items))]


def _raised(outcome: Outcome[Item, T] | BaseException) -> Outcome[Item, T]:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _outcome(item: Item, job: Callable[[Item], T]) -> Outcome[Item, T]:
    try:
        return Outcome(item, value=job(item))
    except AllranksError as error:
        return Outcome(item, error=error)
