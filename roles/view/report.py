"""How a deploy or a teardown ended -> the last lines on the terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from roles.view.console import ago, console, hanging
from roles.watch import Board, Verdict, durations
from roles.watch.effective import effective, stages


def up(out: Console, name: str, where: str, run: str, verdict: Verdict, board: Board, seconds: float) -> None:
    """What is up, where, how long each stage took, and the next commands."""
    out.print(Text(f"{name} is {verdict.sentence}", style="good"))
    _field(out, "where", where)
    _field(out, "since", f"{time.strftime('%Y-%m-%d %H:%M:%S')}, {ago(seconds)} after the command (run {run})")
    if stages := [f"{stage.name} {stage.seconds:.1f} s" for stage in durations(board)]:
        _field(out, "stages", ", ".join(stages))
    for number, line in enumerate(verdict.rewritten):
        _field(out, "" if number else "rewritten", line, "warn")
    for title, text in (("memory", memory_of(board)), ("serves", serves(board))):
        if text:
            _field(out, title, text)
    if board.generation and board.generation.text:
        text = f"{board.generation.text.strip()[:80]!r} in {board.generation.seconds or 0:.1f} s"
        _field(out, "generation", text)
    next_commands(out)


def memory_of(board: Board) -> str:
    """What a rank takes: of its GPU, else of its host; by stage, since stages differ."""
    told = [
        f"{stage} {least:,}{f' to {most:,}' if most != least else ''} MiB".strip()
        for stage, least, most in stages(board)
    ]
    whose = "its GPU" if any(state.gpu is not None for state in board.ranks.values()) else "its host's memory"
    return f"{', '.join(told)} a rank, of {whose}" if told else ""


def serves(board: Board) -> str:
    """As the scheduler has it now: what was asked for may have been more."""
    has = effective(board)
    told = [
        f"{has[key]:,} {words}"
        for key, words in (
            ("kv_tokens", "tokens of KV cache"),
            ("max_running_requests", "requests at a time"),
            ("max_input_tokens", "tokens of input"),
        )
        if has[key] is not None
    ]
    return ", ".join(told)


def _field(out: Console, title: str, text: str, style: str = "") -> None:
    """A title and its text."""
    hanging(out, Text(f"  {title:<10}  ", style=style), text, style)


def next_commands(out: Console) -> None:
    """What one types next."""
    out.print("[dim]  next        inv status · inv logs --follow · inv teardown[/]")


def not_up(
    out: Console, name: str, run: str, verdict: Verdict, record: str, left: Sequence[str], *, kept: bool
) -> None:
    """Which rank, on which host, at which stage, and why; then the evidence, then what became of the rest."""
    out.print(Text(f"{name} is not up: {verdict.sentence}", style="bad"))
    for title, text in (("cause", verdict.cause), ("do", verdict.do)):
        if text and text not in verdict.sentence:
            _field(out, title, text)
    for number, line in enumerate(verdict.witnesses):
        _field(out, "" if number else "host", line)
    for number, line in enumerate(verdict.evidence):
        _field(out, "" if number else "log", line, "dim")
    for number, line in enumerate(verdict.differences):
        _field(out, "" if number else "differs", line)
    if verdict.kind == "stalled":
        for number, line in enumerate(verdict.missing):
            _field(out, "" if number else "missing", line)
    _field(out, "logs", record)
    if verdict.kind == "stalled" or kept:
        _field(out, "now", f"left as it is (run {run}): inv status, inv logs, inv teardown")
    elif left:
        _field(out, "now", f"NOT all of it could be stopped: {'; '.join(left)}; inv teardown", "bad")
    else:
        _field(out, "now", f"what was left of it is stopped; nothing of run {run} runs any more")


STEPS = {
    "wait lock": "waiting for another operator's command on this host",
    "term main": "asked to end (SIGTERM to its main process), draining",
    "wait leader": "the launch script writes down how it ended",
    "kill group": "killing what is left of its processes",
    "wait processes": "waiting for its processes to be gone",
    "wait gpu": "waiting for the GPUs' memory to be free",
}


class Stopping:
    """Progress of a teardown: one status line on a terminal, elsewhere a line when something changes."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = console(stderr=True)
        self._quiet = quiet
        self._now: dict[str, str] = {}
        self._status = self._console.status("stopping") if self._console.is_terminal and not quiet else None

    def __enter__(self) -> Stopping:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def say(self, host: str, frame: Mapping[str, Any]) -> None:
        """Take a `stopping` frame of a host."""
        what = str(frame.get("what"))
        changed, self._now[host] = self._now.get(host) != what, what
        seconds = float(frame.get("seconds") or 0.0)
        text = f"{host}: {STEPS.get(what, what)} ({seconds:.0f} s)"
        if self._status:
            self._status.update(Text(text))
        elif changed and not self._quiet:
            self._console.print(Text(text))


def stopped(out: Console, name: str, nodes: Mapping[str, Mapping[str, Any]], seconds: float) -> None:
    """What a teardown ended. A status of 137 or 143 after a requested stop is how SGLang ends: no error."""
    out.print(Text(f"{name} is stopped ({seconds:.1f} s): processes, port and memory are free", style="good"))
    for host, frame in nodes.items():
        killed = frame.get("killed") or []
        what = f"{len(killed)} processes had to be killed" if killed else "all ended by themselves"
        status = "" if frame.get("exit") is None else f", the server's status was {frame['exit']}"
        out.print(f"[dim]  {host}: {what}{status}[/]")
