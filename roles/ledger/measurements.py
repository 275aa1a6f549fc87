"""What was measured on hosts: `runs/measured/HOST/TIME.json`, each written whole or not at all."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roles.ledger.whole import write_whole


class Measurements:
    """The folder `runs/measured` of a checkout."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "runs" / "measured"

    def keep(self, host: str, found: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Write one down with its time (epoch seconds); gives it as it will be read."""
        whole = {"host": host, "t": round(now, 3), **found}
        folder = self.folder / host
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{os.getpid()}"
        write_whole(folder / f"{name}.json", json.dumps(whole, indent=1))
        return whole

    def last(self, host: str, profile: str | None = None) -> dict[str, Any] | None:
        """The newest of a host; of this profile, where there is one."""
        found = [told for path in sorted((self.folder / host).glob("*.json")) if (told := _read(path))]
        of_profile = [told for told in found if profile and told.get("profile") == profile]
        newest = (of_profile or found)[-1:]
        return newest[0] if newest else None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        told = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and isinstance(told.get("t"), (int, float)) else None
