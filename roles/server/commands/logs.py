"""`inv logs`: what it prints and ends with."""

from __future__ import annotations

import sys
from typing import Any

from roles.inventory import Rank
from roles.inventory.errors import InputError
from roles.server import logs as log_story
from roles.server.commands.find import Sought
from roles.server.lines import Lines
from roles.server.standing import Standing
from roles.view.console import console
from roles.view.logs import LogPrinter


def run(sought: Sought, lines: Lines, *, follow: bool, json: bool) -> int:
    """Print the merged logs; with `follow` go on until Ctrl-C (0) or the server's end (0)."""
    wanted, some = lines.rank, lines.last if lines.since is None else 0
    with sought.hosts as hosts:
        found = sought.run()
        labels = {Rank.parse(entry["label"]): entry["label"] for entry in _ranks(found)}
        if wanted is not None and wanted not in labels:
            what = f"{found.deployment} has no rank {lines.typed}"
            raise InputError(what, do=f"its ranks: {', '.join(labels.values())}")
        printer = LogPrinter(console(), [h for h, _ in found.nodes.values()], labels.values(), as_json=json)
        reach = None if wanted is not None else (some or None)
        entries, ends = log_story.last(hosts, found, lines=reach, since=lines.since)
        chosen = list(log_story.of_rank(entries, wanted))
        for entry in chosen[-some:] if some else chosen:
            _print(printer, entry, labels)
        if follow:
            following = log_story.follow(hosts, found, ends)
            try:
                for entry in log_story.of_rank(following, wanted):
                    _print(printer, entry, labels)
            except KeyboardInterrupt:
                print("\nallranks: stopped following; the server goes on", file=sys.stderr)
            finally:
                following.close()
    return 0


def _ranks(run: Standing) -> list[dict[str, Any]]:
    return [rank for _, summary in run.nodes.values() for rank in summary.get("ranks") or []]


def _print(printer: Any, entry: log_story.Entry, labels: dict[Rank, str]) -> None:
    if entry.line is None:
        printer.note(entry.host, entry.note)
        return
    line = entry.line
    label = labels.get(line.rank, "") if line.rank is not None else ""
    printer.line(entry.host, label, line.time or "", line.text, line.source)
