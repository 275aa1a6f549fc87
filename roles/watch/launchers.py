"""The prefixes of other launchers (docker compose, kubectl, journald, Slurm) -> the pattern to take off."""

from __future__ import annotations

import re

_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) "

LAUNCHERS = (
    re.compile(r"[\w.-]+ +\| ?"),  # docker compose: "sglang-1  | "
    re.compile(_ISO + r"(?:(?:stdout|stderr) [FP] )?"),  # kubectl logs --timestamps; CRI files
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ \S+\[\d+\]: "),  # journald, syslog
    re.compile(r" *\d+: "),  # srun --label
)


def launcher_of(text: str, head: re.Pattern[str]) -> re.Pattern[str] | None:
    """The launcher whose prefix stands before SGLang's own head in `text`, if one does."""
    for launcher in LAUNCHERS:
        prefix = launcher.match(text)
        if prefix and head.match(text, prefix.end()):
            return launcher
    return None
