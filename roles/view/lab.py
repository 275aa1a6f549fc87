"""The lab's hosts -> a table, or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from roles.view.console import console, print_json


def render(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print the rows of `lab.status`."""
    if as_json:
        print_json(list(rows))
        return
    out = console()
    if not rows:
        out.print("the lab is down: inv lab.up")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("host", "state", "address", "kind", "pid", "to reach it"):
        table.add_column(name, overflow="fold")
    for row in rows:
        state = Text("up", style="good") if row["up"] else Text("down", style="bad")
        address = f"{row['address']}:{row['port']}"
        table.add_row(row["name"], state, address, row["kind"], str(row["pid"] or ""), row["ssh"])
    out.print(table)
