"""Diagnoses -> a terminal: the state, the findings with what to do, the witnesses side by side, the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from roles.view.console import ago, hanging
from roles.watch.case import Case
from roles.watch.doctor import Diagnosis
from roles.watch.finding import doing, memory
from roles.watch.witness import Witness, clock

STYLES = {"up": "good", "loading": "warn", "stalled": "warn"}
MARKS = {"bad": ("✘", "bad"), "warn": ("!", "warn"), "good": ("✔", "good")}


def render(out: Console, told: Sequence[Diagnosis], silent: Mapping[str, str], looked_at: Sequence[str]) -> None:
    """All of them; hosts that did not answer below."""
    for number, diagnosis in enumerate(told):
        if number:
            out.print()
        _one(out, diagnosis)
    if not told and (answered := [name for name in looked_at if name not in silent]):
        out.print(f"no SGLang server runs on {', '.join(answered)}")
    for name, why in silent.items():
        out.print(f"[bad]{name}: no answer:[/] [dim]{escape(why.removeprefix(f'{name}: '))}[/]")


def _one(out: Console, diagnosis: Diagnosis) -> None:
    case = diagnosis.case
    out.print(Text.assemble((f"{case.name}: {diagnosis.state}", STYLES.get(diagnosis.state, "bad"))))
    for finding in diagnosis.findings:
        mark, style = MARKS[finding.level]
        hanging(out, Text(f"  {mark} ", style=style), finding.sentence, style)
        if finding.do:
            hanging(out, Text("    do: "), finding.do)
    if not diagnosis.findings:
        out.print(Text(f"  ✔ {diagnosis.sentence}", style="good" if diagnosis.state == "up" else "warn"))
    out.print(_witnesses(case))
    if any(seen.row for seen in case.ranks):
        out.print(_ranks(case))
    if not case.ours:
        out.print(Text("  allranks did not start this one: it is only looked at", style="dim"))


def _witnesses(case: Case) -> Table:
    """What each of them says, a column a host."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("  witness", no_wrap=True, style="dim")
    for witness in case.nodes:
        table.add_column(witness.host)
    for name, says in (("log", _log), ("processes", _processes), ("GPU", _gpu), ("port", _port), ("health", _health)):
        table.add_row(f"  {name}", *(Text(says(case, witness)) for witness in case.nodes))
    return table


def _log(case: Case, witness: Witness) -> str:
    told = witness.told
    if not witness.log:
        return "it writes to no file" if not told.get("log") else f"empty ({told['log']})"
    age = f", last written {ago(float(told['log_age']))} ago" if told.get("log_age") is not None else ""
    last = f", last line {clock(witness.last_stamp)}" if witness.last_stamp else ""
    said = case.explained.kind
    words = {"up": "ready", "loading": "loading", "unknown": "not SGLang's", "stopped": "told to stop"}.get(said, said)
    return f"{words}{last}{age} ({told.get('log')})"


def _processes(case: Case, witness: Witness) -> str:
    ranks = [seen for seen in case.ranks if seen.host == witness.host]
    living = sum(seen.row is not None for seen in ranks)
    main = f"main pid {witness.main}" if witness.main else "no main"
    return f"{main}, {living} of {len(ranks)} ranks" if witness.rows else "none"


def _gpu(case: Case, witness: Witness) -> str:
    if not witness.gpus:
        return str(witness.about.get("gpu_error") or "none there")
    busy = [gpu["utilization"] for gpu in witness.gpus if gpu.get("utilization") is not None]
    numbers = ",".join(str(gpu.get("index")) for gpu in witness.gpus)
    return f"{numbers}: {memory(witness)}" + (f", {max(busy)} % busy" if busy else "")


def _port(case: Case, witness: Witness) -> str:
    holder = witness.holder
    if witness.port is None:
        return "none"
    if holder is None:
        return f"{witness.port}: nobody listens"
    whose = "this server" if holder.get("ours") else f"{holder.get('user')}: {holder.get('cmdline')}"
    return f"{witness.port}: pid {holder.get('pid')}, {whose}"


def _health(case: Case, witness: Witness) -> str:
    told = witness.told
    if told.get("health") is not None:
        dummy = ", a dummy's: nodes above 0 always answer so" if witness.node else ""
        return f"{told['health']}{dummy}"
    if told.get("health_error"):
        return f"no answer in {told.get('health_seconds') or 0:.0f} s ({told['health_error']})"
    return "not asked"


def _ranks(case: Case) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("  rank", "host", "pid", "log says", "process"):
        table.add_column(name, no_wrap=name != "process")
    for seen in case.ranks:
        row: Mapping[str, Any] | None = seen.row
        what = doing(row) if row else "gone"
        style = "bad" if row is None or row.get("state") in ("T", "D") else ""
        said = seen.state.milestone or "nothing yet"
        table.add_row(f"  {seen.state.label}", seen.host, str(seen.pid or ""), said, Text(what, style=style))
    return table
