"""A plan -> what `inv show` prints, as text or as one JSON object. Nothing is decided here."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from roles.plan.argv import by_flag

if TYPE_CHECKING:
    from roles.plan.plan import NodePlan, Plan

MASK = "***"


def show(plan: Plan, *, color: bool | None = None) -> str:
    """The whole plan as text, with each script byte for byte between two lines to cut at.

    Without `color` headings are bold on a terminal that wants it.
    """
    if color is None:
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return "\n".join(_lines(plan, color)) + "\n"


def as_json(plan: Plan) -> str:
    """The plan as one JSON object, indented."""
    return json.dumps(as_object(plan), indent=2, ensure_ascii=False) + "\n"


def as_object(plan: Plan) -> dict[str, object]:
    """The same as a value; with several nodes the top level is node 0's and `nodes` has all."""
    whole: dict[str, object] = {
        "deployment": plan.name,
        "profile": plan.profile.name,
        "hosts": list(plan.hosts),
        "hash": plan.hash,
        **_node_json(plan.nodes[0]),
        "ranks": [
            {"rank": seat.label, "host": seat.host, "node": seat.node, "gpu": seat.gpu, "numa": seat.numa}
            for seat in plan.ranks
        ],
    }
    if len(plan.nodes) > 1:
        whole["nodes"] = [{"node": node.node, "host": node.host.name, **_node_json(node)} for node in plan.nodes]
    return whole


def _node_json(node: NodePlan) -> dict[str, object]:
    return {
        "argv": list(node.argv),
        "environment": {**node.environment, **dict.fromkeys(node.secrets, MASK)},
        "script": node.script,
        "ports": list(node.ports),
        "log": node.log,
    }


def _lines(plan: Plan, color: bool) -> Iterator[str]:
    yield _heading(f"{plan.name}", color)
    yield f"model     {plan.expected['model_path']} as {plan.expected['served_model_name']}"
    yield f"hosts     {', '.join(plan.hosts)}"
    yield f"ranks     {len(plan.ranks)}"
    yield f"plan      {plan.hash}"
    yield ""
    yield from _table(
        ("RANK", "NODE", "HOST", "GPU", "NUMA"),
        ((seat.label, seat.node, seat.host, _or_dash(seat.gpu), _or_dash(seat.numa)) for seat in plan.ranks),
        color,
    )
    for node in plan.nodes:
        yield ""
        yield from _node(node, color)


def _node(node: NodePlan, color: bool) -> Iterator[str]:
    at = f"node {node.node} on {node.host.name}"
    yield _heading(at, color)
    yield f"reached   {_login(node)}"
    yield f"ports     {', '.join(map(str, node.ports))}"
    yield f"log       {node.log or 'in the run directory only'}"
    yield ""
    yield _heading(f"environment, {at}", color)
    yield from (f"{name}={shlex.quote(value)}" for name, value in node.environment.items())
    yield from (f"{name}={MASK} ({reference})" for name, reference in node.secrets.items())
    if not node.environment and not node.secrets:
        yield "nothing beside the host's own"
    yield ""
    yield _heading(f"argv, {at}", color)
    yield from (" ".join(map(shlex.quote, words)) for words in by_flag(node.argv))
    yield ""
    digest = hashlib.sha256(node.script.encode()).hexdigest()
    yield _heading(f"--- 8< --- launch.sh, {at}, sha256 {digest[:16]}", color)
    yield node.script.removesuffix("\n")
    yield _heading(f"--- >8 --- launch.sh, {at}", color)


def _login(node: NodePlan) -> str:
    host = node.host
    user = f"{host.user}@" if host.user else ""
    port = f":{host.port}" if host.port else ""
    through = f" through {host.jump or host.proxy_command}" if host.jump or host.proxy_command else ""
    return f"{user}{host.address}{port}{through}, {host.kind}"


def _or_dash(number: int | None) -> str:
    return "-" if number is None else str(number)


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]], color: bool) -> Iterator[str]:
    """Columns as wide as their widest cell; the last one is not padded."""
    cells = [head, *(tuple(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for place, row in enumerate(cells):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield line if place else _heading(line, color)


def _heading(text: str, color: bool) -> str:
    if not color:
        return text
    from rich.style import Style

    return Style(bold=True).render(text)
