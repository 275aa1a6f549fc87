"""What an operator asks of logs -> which lines. It is light, and asks no host: bad input is told before one is."""

from __future__ import annotations

import time
from dataclasses import dataclass

from roles.inventory import Rank
from roles.inventory.errors import InputError
from roles.server.since import since_epoch


@dataclass(frozen=True)
class Lines:
    """`last`: how many of each host's last lines, 0 for all; `since`: epoch seconds; `rank`: of this one only.

    `typed`: the rank as it was typed.
    """

    last: int
    since: float | None
    rank: Rank | None = None
    typed: str | None = None


def asked_for(lines: int, since: str | None, rank: str | None = None) -> Lines:
    """The options as they were typed. Raises: InputError."""
    wanted = Rank.parse(rank) if rank else None
    if lines < 0:
        raise InputError(f"--lines {lines}: must be 0 (all) or more")
    return Lines(lines, since_epoch(since, time.time()) if since else None, wanted, rank)
