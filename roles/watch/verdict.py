"""Board + now -> Verdict: up, or what stands between it and up, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Literal

from roles.watch.blame import blame, ended_at
from roles.watch.board import Board
from roles.watch.conditions import behind, differences, missing
from roles.watch.stall import limit, progress_sentence, silent_for, stall_sentence
from roles.watch.states import Stage
from roles.watch.suspects import Blame

VerdictKind = Literal["up", "loading", "stalled", "failed", "lost", "foreign", "different", "disconnected"]

GRACE = 0.5  # seconds after a death in which another host, or main's own end, may still say why
SOON = 0.1  # the same where one host tells all: what a process wrote is told before its death is
VERBS = frozenset({"rank-died", "rank-gone", "main-killed", "main-gone", "shell-says", "stopped", "exit"})
STALL = 1800.0  # seconds without any progress


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


def verdict(board: Board, now: float, stall: float = STALL) -> Verdict:
    """The verdict at `now` (epoch seconds, the clock that the frames' times are on)."""
    lacking, different = missing(board), differences(board)
    was_up = board.up_at is not None
    if board.http and not was_up:
        foreign = _foreign(board, lacking)
        if foreign is not None:
            return foreign
    restarted = next((node for node in board.nodes.values() if node.rebooted), None)
    if restarted is not None:
        return _restarted(board, restarted.host, lacking)
    guilty = _guilty(board, now)
    if guilty is not None:
        return _ended(board, guilty, lacking)
    full = next((node for node in board.nodes.values() if node.full), None)
    if full is not None and not was_up:
        return _full(full.host, full.full, lacking)
    if any(not node.connected for node in board.nodes.values()):
        return _disconnected(board, now, lacking, stall)
    if not lacking and not different:
        return Verdict("up", _up(board))
    if different and (not lacking or board.generation is not None or board.elsewhere):
        return _different(board, [str(setting) for setting in different], lacking)
    if (was_up and board.health is not None) or silent_for(board, now) > limit(board, stall):
        return Verdict("stalled", stall_sentence(board, now, lacking), missing=lacking, host=_slowest(board))
    return Verdict("loading", progress_sentence(board, lacking), missing=lacking, host=_slowest(board))


def _guilty(board: Board, now: float) -> Blame | None:
    """The guilty one, once there is nothing to wait for: its last words can come a moment after its death is seen."""
    end = ended_at(board)
    guilty = blame(board) if end is not None else None
    if end is None or guilty is None:
        return None
    return guilty if guilty.sure or max(now, board.latest) >= end + _grace(board) else None


def _grace(board: Board) -> float:
    main = board.nodes[0]
    return SOON if len(board.nodes) == 1 and (main.exited or main.main_died is None) else GRACE


def due(board: Board, now: float) -> float:
    """Seconds until a death that was seen can be judged; infinite when there is none, or it was judged already."""
    end = ended_at(board)
    left = end + _grace(board) - now if end is not None else inf
    return left if left > 0 else inf


def _ended(board: Board, guilty: Blame, lacking: list[str]) -> Verdict:
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


def _foreign(board: Board, lacking: list[str]) -> Verdict | None:
    node = board.nodes[0]
    holder = node.holder
    if holder is None or holder.get("ours"):
        return None
    pid, command = holder.get("pid"), str(holder.get("cmdline") or "a command that may not be seen")
    user = f" of {holder['user']}" if holder.get("user") else ""
    sentence = f"port {board.port} on {node.host} belongs to pid {pid}{user}, not to this run: {command}"
    do = "stop that process, or deploy on another port; what answers there is not this server"
    return Verdict("foreign", sentence, host=node.host, cause="the port is taken", do=do, missing=lacking)


def _restarted(board: Board, host: str, lacking: list[str]) -> Verdict:
    kind: VerdictKind = "failed" if board.up_at is None else "lost"
    sentence = f"{host} was restarted: nothing of the server is left on it"
    do = "inv deploy; why the host went down its own logs tell"
    return Verdict(kind, sentence, host=host, cause="the host was restarted", do=do, missing=lacking, id="restarted")


def _full(host: str, path: str, lacking: list[str]) -> Verdict:
    """What it says is lost from here on: whether it came up could not be told."""
    sentence = f"the disk on {host} is full: the log cannot be written any more ({path})"
    do = "free space there (df -h), then deploy again"
    return Verdict(
        "failed", sentence, host=host, cause="the log's disk is full", do=do, missing=lacking, id="disk-full"
    )


def _disconnected(board: Board, now: float, lacking: list[str], stall: float) -> Verdict:
    """The server goes on by itself; but who waits for it to be up is told when nothing has been heard for too long."""
    lost = [node for node in board.nodes.values() if not node.connected]
    said = ", ".join(f"{node.host} lost {max(0.0, now - (node.lost_at or now)):.0f} s ago" for node in lost)
    why = f" ({lost[0].why})" if lost[0].why else ""
    sentence = f"connection to {said}{why}; the server goes on by itself"
    silent = board.up_at is None and any(now - (node.lost_at or now) > stall for node in lost)
    return Verdict("stalled" if silent else "disconnected", sentence, host=lost[0].host, missing=lacking)


def _different(board: Board, different: list[str], lacking: list[str]) -> Verdict:
    sentence = f"it runs on {board.nodes[0].host}, but not as asked: {'; '.join(different)}"
    do = "look at the profile's flags and what SGLang makes of them"
    return Verdict("different", sentence, host=board.nodes[0].host, do=do, missing=lacking, differences=different)


def _up(board: Board) -> str:
    count = len(board.ranks)
    ranks = f"{count} rank{'s' if count != 1 else ''}"
    where = f"port {board.port} on {board.nodes[0].host}" if board.port else board.nodes[0].host
    hidden = " (its log level hides milestones: told by processes and HTTP alone)" if board.quiet else ""
    return f"up: {ranks} answered, {where}{hidden}"


def _slowest(board: Board) -> str | None:
    waiting = [state for state in behind(board) if state.stage is not Stage.DEAD]
    return waiting[0].host if waiting else board.nodes[0].host
