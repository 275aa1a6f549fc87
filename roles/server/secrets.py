"""Secret references -> values, on this machine, before anything is touched. Values are never put in an error."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from roles.inventory.errors import InputError


def resolve(references: Mapping[str, str], profile: str) -> dict[str, str]:
    """Look up each `env:NAME` or `file:PATH`; all that are missing are named at once. Raises: InputError."""
    values, missing = {}, []
    for name, reference in references.items():
        value = _value(reference)
        if value is None:
            missing.append(f"{name} ({reference})")
        else:
            values[name] = value
    if missing:
        raise InputError(
            f"profile {profile}: no value for the secret {', '.join(missing)}",
            do="set the variable or write the file on this machine",
        )
    return values


def _value(reference: str) -> str | None:
    kind, _, where = reference.partition(":")
    if kind == "env":
        return os.environ.get(where) or None
    try:
        return Path(where).expanduser().read_text().rstrip("\n") or None
    except OSError:
        return None
