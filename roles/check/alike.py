"""Two spellings of a setting -> whether they mean the same."""

from __future__ import annotations

import json
import re
from typing import Any


def alike(asked: Any, found: Any) -> bool:
    """0.10 and 0.1 are the same setting, so are a list and its words, and JSON and what it says."""
    if isinstance(found, list | tuple):
        words = asked if isinstance(asked, list) else [asked]
        return [str(each) for each in found] == [str(each) for each in words]
    try:
        one, other = float(asked), float(found)
        return one == other
    except (TypeError, ValueError):
        return bool(_as_json(asked) == _as_json(found))


def _as_json(value: Any) -> Any:
    """What a text says as JSON; anything else is itself."""
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def masked(planned: str | None, told: str | None) -> bool:
    """Whether what the host told, with *** for what looks like a secret, can be what was planned."""
    if planned is None or told is None or "***" not in told:
        return False
    return re.fullmatch(".*".join(map(re.escape, told.split("***"))), planned, re.DOTALL) is not None
