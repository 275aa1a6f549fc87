"""What an operator types behind `--since` -> a time."""

from __future__ import annotations

import time

from roles.inventory.errors import InputError


def since_epoch(text: str, now: float) -> float:
    """`10m`, `2h`, `90s`, `1d` ago, or a local `[YYYY-MM-DD] HH:MM[:SS]` -> epoch seconds. Raises: InputError."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    if text and text[-1] in units and text[:-1].replace(".", "", 1).isdigit():
        return now - float(text[:-1]) * units[text[-1]]
    today = time.strftime("%Y-%m-%d", time.localtime(now))
    for candidate in (text, f"{today} {text}", f"{today} {text}:00", f"{text}:00"):
        try:
            return time.mktime(time.strptime(candidate.replace("T", " "), "%Y-%m-%d %H:%M:%S"))
        except ValueError:
            continue
    raise InputError(f"--since {text}: not a time", do="write 10m, 2h, 90s, 14:05 or '2026-11-29 14:05:00'")
