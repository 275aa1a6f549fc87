"""What stands in a lease file -> leases that all else can rely on: other users have written it, by whatever means."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from .state import Json

TEXTS = ("who", "what", "deployment", "address", "taken_by")  # told to people
LATEST = 1e11  # seconds: no time of any clock here is later, nor one that cannot be written as a date


def whole(found: Any) -> Optional[Json]:
    """The lease with each field of its kind; None for one that cannot be understood, the others are none the worse.

    What it need not have may be absent; what it has must be right, or nobody knows what it covers.
    """
    try:
        if not isinstance(found["id"], str) or not isinstance(found["who"], str):
            return None
        fields: Dict[str, Any] = {name: _text(found.get(name)) for name in TEXTS}
        fields.update({name: _numbers(found.get(name)) for name in ("gpus", "ports")})
        fields.update({name: _time(found[name]) for name in ("until", "since")}, pid=_maybe(found.get("pid"), int))
        return {**found, **fields, "what": fields["what"] or "changing", "home": _maybe(found.get("home"), str)}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _maybe(value: Any, kind: type) -> Any:
    if value is not None and not isinstance(value, kind):
        raise TypeError(kind.__name__)
    return value


def _text(value: Any) -> Optional[str]:
    """Without what a terminal would obey."""
    text = _maybe(value, str)
    return None if text is None else "".join(c if c.isprintable() else "?" for c in text)


def _numbers(value: Any) -> Any:
    return [_maybe(each, int) or 0 for each in _maybe(value, list) or ()]


def _time(value: Any) -> float:
    """Raises: ValueError for one that is no time, infinite and NaN among them."""
    if not isinstance(value, (int, float)) or not 0 <= value <= LATEST:
        raise ValueError(value)
    return float(value)
