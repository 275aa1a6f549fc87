"""One job for each host, all at once, bounded; every host reports, whatever the others do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from roles.inventory.errors import AllranksError

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
    """
    if len(items) == 1:
        return [_outcome(items[0], job)]
    with ThreadPoolExecutor(max_workers=max(1, min(parallel, len(items)))) as pool:
        return list(pool.map(lambda item: _outcome(item, job), items))


def _outcome(item: Item, job: Callable[[Item], T]) -> Outcome[Item, T]:
    try:
        return Outcome(item, value=job(item))
    except AllranksError as error:
        return Outcome(item, error=error)
