"""Verdict: what a board means, and its sentences. Which of them is true at a moment: verdict.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from roles.watch.board import Board
from roles.watch.suspects import Blame

VerdictKind = Literal["up", "loading", "stalled", "failed", "lost", "foreign", "different", "disconnected"]

VERBS = frozenset({"rank-died", "rank-gone", "main-killed", "main-gone", "shell-says", "stopped", "exit"})


@dataclass(frozen=True)
class Verdict:
    """What a board means at a moment."""

    kind: VerdictKind
    sentence: str
    rank: str | None = None  # label of the rank it is about
    host: str | None = None
    cause: str = ""
    do: str = ""
    evidence: list[str] = field(default_factory=list)  # lines of the log
    missing: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)  # settings that SGLang has changed, each with its reason
    witnesses: list[str] = field(default_factory=list)  # what the host says when it is asked closer
    id: str = ""  # row of the failures, or rank-died, main-killed, exit ...

    @property
    def ending(self) -> str:
        """The end of a run in one sentence."""
        return f"{'lost' if self.kind == 'lost' else 'not up'}: {self.sentence}"


def ended(board: Board, guilty: Blame, lacking: list[str]) -> Verdict:
    """Who is to blame, and for what."""
    host = board.nodes[guilty.node].host
    state = board.ranks.get(guilty.rank) if guilty.rank is not None else None
    who = f"{state.label} on {host}" if state else f"main on {host}"
    if guilty.id in VERBS:
        sentence = f"{who} {guilty.cause}"
    elif guilty.known:
        sentence = f"{who}: {guilty.cause}"
    else:
        sentence = f"{who} failed for a reason that is not in the tables: {guilty.cause}"
    kind: VerdictKind = "failed" if board.up_at is None else "lost"
    label = state.label if state else None
    lines = list(guilty.lines)
    return Verdict(kind, sentence, label, host, guilty.cause, guilty.do, lines, lacking, id=guilty.id)


def foreign(board: Board, lacking: list[str]) -> Verdict | None:
    """Somebody else listens on the port; None when nobody does, or we do."""
    node = board.nodes[0]
    holder = node.holder
    if holder is None or holder.get("ours"):
        return None
    pid, command = holder.get("pid"), str(holder.get("cmdline") or "a command that may not be seen")
    user = f" of {holder['user']}" if holder.get("user") else ""
    sentence = f"port {board.port} on {node.host} belongs to pid {pid}{user}, not to this run: {command}"
    do = "stop that process, or deploy on another port; what answers there is not this server"
    return Verdict("foreign", sentence, host=node.host, cause="the port is taken", do=do, missing=lacking)


def restarted(board: Board, host: str, lacking: list[str]) -> Verdict:
    """Its host was restarted: no log and no exit status can say more."""
    kind: VerdictKind = "failed" if board.up_at is None else "lost"
    sentence = f"{host} was restarted: nothing of the server is left on it"
    do = "inv deploy; why the host went down its own logs tell"
    return Verdict(kind, sentence, host=host, cause="the host was restarted", do=do, missing=lacking, id="restarted")


def full(host: str, path: str, lacking: list[str]) -> Verdict:
    """What it says is lost from here on: whether it came up could not be told."""
    sentence = f"the disk on {host} is full: the log cannot be written any more ({path})"
    do = "free space there (df -h), then deploy again"
    return Verdict(
        "failed", sentence, host=host, cause="the log's disk is full", do=do, missing=lacking, id="disk-full"
    )


def disconnected(board: Board, now: float, lacking: list[str], stall: float) -> Verdict:
    """The server goes on by itself; but who waits for it to be up is told when nothing has been heard for too long."""
    lost = [node for node in board.nodes.values() if not node.connected]
    said = ", ".join(f"{node.host} lost {max(0.0, now - (node.lost_at or now)):.0f} s ago" for node in lost)
    why = f" ({lost[0].why})" if lost[0].why else ""
    sentence = f"connection to {said}{why}; the server goes on by itself"
    silent = board.up_at is None and any(now - (node.lost_at or now) > stall for node in lost)
    return Verdict("stalled" if silent else "disconnected", sentence, host=lost[0].host, missing=lacking)


def different(board: Board, different: list[str], lacking: list[str]) -> Verdict:
    """It runs, with other settings than asked."""
    sentence = f"it runs on {board.nodes[0].host}, but not as asked: {'; '.join(different)}"
    do = "look at the profile's flags and what SGLang makes of them"
    return Verdict("different", sentence, host=board.nodes[0].host, do=do, missing=lacking, differences=different)


def up(board: Board) -> str:
    """All is true."""
    count = len(board.ranks)
    ranks = f"{count} rank{'s' if count != 1 else ''}"
    where = f"port {board.port} on {board.nodes[0].host}" if board.port else board.nodes[0].host
    hidden = " (its log level hides milestones: told by processes and HTTP alone)" if board.quiet else ""
    return f"up: {ranks} answered, {where}{hidden}"
