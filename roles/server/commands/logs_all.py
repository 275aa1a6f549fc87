"""`inv logs --all`: the logs of everything of ours on the named hosts, merged by time."""

from __future__ import annotations

import sys
from pathlib import Path

from roles.inventory import load
from roles.inventory.errors import InputError, NoHost, SomeHosts
from roles.server import logs as log_story
from roles.server.lines import asked_for
from roles.server.target import Hosts
from roles.view.console import console
from roles.view.logs import LogPrinter


def alone(**others: object) -> None:
    """Refuse options that say nothing for many deployments at once. Raises: InputError."""
    if given := [f"--{name}" for name, value in others.items() if value]:
        raise InputError(f"logs --all and {', '.join(given)}", do="leave --all out and name one deployment: --name")


def run(
    root: Path, host: str | None, *, lines: int, since: str | None, parallel: int, json: bool, accept_new: bool
) -> int:
    """Print the last `lines` of all together: 0; 10 or 11 when some hosts, or all, did not answer (they are named)."""
    if not host:
        raise InputError("logs --all: of which hosts?", do="name them: --host HOST")
    wanted = asked_for(lines, since)
    looked_at = load(root).hosts(host)
    with Hosts(load(root), looked_at, accept_new=accept_new, parallel=parallel) as hosts:
        runs = hosts.runs()
        entries = log_story.last_of_all(hosts, runs, lines=None if since else lines or None, since=wanted.since)
        printer = LogPrinter(console(), list(hosts.remotes), [], as_json=json)
        for entry in entries[-lines:] if lines and not since else entries:
            if entry.line is None:
                printer.note(entry.host, entry.note)
            else:
                printer.line(entry.host, "", entry.line.time or "", entry.line.text, entry.line.source)
        for name, error in hosts.silent.items():
            printer.note(name, f"no answer: {str(error).removeprefix(f'{name}: ')}")
        if not runs and (answered := [name for name in hosts.remotes if name not in hosts.silent]):
            print(f"nothing of ours runs on {', '.join(answered)}", file=sys.stderr)
        if not hosts.silent:
            return 0
        return (SomeHosts if len(hosts.silent) < len(hosts.remotes) else NoHost).exit_code
