"""Log entries -> lines for a terminal (host and rank in front, in colour), for a file, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from roles.view.console import shade


class LogPrinter:
    """Prints entries as they come. `hosts`: all hosts of the run, so that the first column is as wide as it must be."""

    def __init__(self, console: Console, hosts: Iterable[str], labels: Iterable[str], *, as_json: bool = False) -> None:
        names, ranks = list(hosts), list(labels)
        self._console, self._json = console, as_json
        self._host_width = max(map(len, names), default=0)
        self._rank_width = max(map(len, ranks), default=0)
        self._shades = {name: shade(number) for number, name in enumerate([*ranks, *names])}

    def line(self, host: str, label: str, stamp: str, text: str, source: str) -> None:
        """One line that `host` printed; `label` is its rank or empty, `stamp` the host's local time or empty."""
        if self._json:
            said = {"host": host, "rank": label or None, "time": stamp or None, "source": source, "text": text}
            print(json.dumps(said), flush=True)  # who reads a pipe must hear each line when it is said
            return
        out = Text(no_wrap=not self._console.is_terminal, overflow="ignore")
        out.append(host.ljust(self._host_width), style=self._shades.get(host, ""))
        out.append(" ")
        out.append(label.ljust(self._rank_width), style=self._shades.get(label, ""))
        out.append(f" {stamp} " if stamp else " ", style="dim")
        out.append(text)
        self._console.print(out)

    def note(self, host: str, text: str) -> None:
        """A word of our own between the lines."""
        if self._json:
            print(json.dumps({"host": host, "note": text}), flush=True)
        else:
            self._console.print(Text(f"-- {host}: {text}", style="warn"))
