"""The prefixes of other launchers (docker compose, kubectl, journald, Slurm, Dynamo) -> lines as SGLang wrote them.

One file can hold several servers' lines (a compose project, a job's tasks): they are told apart by the prefix.
"""

from __future__ import annotations

import re

from roles.watch.line import HEAD

_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) "
_ISO = _TIME + r"(?:(?:stdout|stderr) [FP] )?"  # kubectl logs --timestamps; the container runtime's own files
_NAMED = (
    r"(?P<who>[\w.-]+) +\| ?",  # docker compose: "sglang-1  | "
    r"\[(?P<who>pod/[\w./-]+)\] ",  # kubectl logs --prefix
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<who>\S+) \S+\[\d+\]: ",  # journald, syslog: by host
    r" *(?P<who>\d+): ",  # srun --label: by task
)
_CHILD = _TIME + r" *[A-Z]+ dynamo_run::subprocess: "  # what a child of dynamo's prints, passed on line by line
LAUNCHERS = tuple(re.compile(row) for row in (*_NAMED, *(row + _ISO for row in _NAMED), _CHILD, _ISO))
# Dynamo can also take SGLang's own records: "2026-11-29T14:37:54.123Z  INFO scheduler.__init__: Load weight begin"
RECORD = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{3})\d*)?Z +(?:TRACE|DEBUG|INFO|WARN|ERROR) [\w.:]+: ")
LOOKED_AT = 400  # lines at the start of a log in which a launcher must show itself


def launcher_of(text: str, head: re.Pattern[str]) -> re.Pattern[str] | None:
    """The launcher whose prefix stands before SGLang's own head in `text`, if one does."""
    for launcher in LAUNCHERS:
        prefix = launcher.match(text)
        if prefix and head.match(text, prefix.end()):
            return launcher
    return None


def bare(text: str) -> dict[str, str]:
    """A log -> by the name in its prefix, the lines without prefixes; "" is the name where there is none."""
    lines = text.split("\n")
    head = re.compile(f"{HEAD.pattern}|{RECORD.pattern}")
    seen = (launcher_of(line, head) for line in lines[:LOOKED_AT] if not HEAD.match(line))
    launcher = next((found for found in seen if found), None)
    if launcher is None:
        return {"": "\n".join(map(as_head, lines)) if any(map(RECORD.match, lines[:LOOKED_AT])) else text}
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        prefix = launcher.match(line)
        name = prefix.groupdict().get("who") or "" if prefix else name
        found.setdefault(name, []).append(as_head(line[prefix.end() :] if prefix else line))
    parts = {name: "\n".join(part) + "\n" for name, part in found.items()}
    return {name: part for name, part in parts.items() if HEAD.search(part)}  # the other services of a project


def as_head(line: str) -> str:
    """A record of Dynamo's with the head that SGLang would have given it; any other line as it is."""
    record = RECORD.match(line)
    if record is None:
        return line
    ms = f".{record[3]}" if record[3] else ""
    return f"[{record[1]} {record[2]}{ms}] {line[record.end() :]}"
