"""Two profiles -> key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roles.inventory import Profile


def profiles(one: Profile, other: Profile) -> Iterator[tuple[str, Any, Any]]:
    """(key, value in the first, in the second) of every field that either has, dotted as --set takes it."""
    left, right = (dict(_flat(profile.model_dump(mode="json"))) for profile in (one, other))
    for key in dict.fromkeys([*left, *right]):
        if key != "name":
            yield key, left.get(key), right.get(key)


def _flat(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{above}{key}.")
        else:
            yield f"{above}{key}", inner
