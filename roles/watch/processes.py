"""The processes and GPUs of a node -> board. A rank's process is known by its title, afterwards by its pid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from roles.inventory.rank import Rank
from roles.watch.board import Board
from roles.watch.seating import seated, title_axes
from roles.watch.stages import restaged
from roles.watch.states import DEAD, RankState, Stage
from roles.watch.unnamed import unnamed

Frame = Mapping[str, Any]
CPU_STEP = 0.5  # seconds of CPU time that count as progress: an idle event loop uses far less
READ_STEP = 4 << 20  # bytes read that count as progress: messages between processes are far less
MEMORY_STEP = 16  # MiB that count as progress
# A rank that waits for its peers may spin: there CPU time is no progress.
BUSY = frozenset({Stage.STARTING, Stage.LOADING, Stage.LOADED, Stage.MEMORY, Stage.CAPTURING})
_COMPILER = re.compile(r"(?:\S*/)?(nvcc|cicc|ptxas|ninja|cc1plus|cudafe\+\+|g\+\+)\b")


def processes(board: Board, node: int, frame: Frame, at: float) -> Board:
    """Who lives, who has gone since the last look, and who works."""
    rows = {int(row["pid"]): row for row in frame.get("procs") or ()}
    board = _main(board, node, frame.get("main"), rows, at)
    board = replace(board, ranks={**board.ranks, **dict(_ranks(board, node, rows, at))})
    return restaged(_helpers(board, node, rows, at))


def gpus(board: Board, node: int, frame: Frame, at: float) -> Board:
    """Memory used on each rank's GPU."""
    used = {int(gpu["index"]): gpu.get("used_mib") for gpu in frame.get("gpus") or ()}
    ranks = {
        rank: _memory(state, int(used[state.gpu]), at)
        for rank, state in board.ranks.items()
        if state.node == node and state.gpu is not None and used.get(state.gpu) is not None
    }
    return replace(board, ranks={**board.ranks, **ranks})


def _main(board: Board, node: int, main: int | None, rows: Mapping[int, Frame], at: float) -> Board:
    state = board.nodes[node]
    pid = state.main if main is None else main
    alive = main is not None and (main not in rows or rows[main].get("state") not in DEAD)
    if pid is None:
        return board
    died = state.main_died if alive or state.main_died is not None else at
    changed = replace(state, main=pid, main_alive=alive, main_died=None if alive else died)
    return replace(board, nodes={**board.nodes, node: changed})


def _ranks(board: Board, node: int, rows: Mapping[int, Frame], at: float) -> Iterable[tuple[Rank, RankState]]:
    titled = _titled(board, node, rows)
    orphaned = board.nodes[node].main_died is not None
    for rank, state in board.ranks.items():
        if state.node != node or state.died is not None:
            continue
        row = rows.get(state.pid) if state.pid else None
        row = titled.get(rank) if row is None else row
        if row is not None and row.get("state") not in DEAD:
            yield rank, _alive(state, row, at)
        elif state.pid is not None or rank in titled:
            yield rank, _dead(state, row, at, orphaned=orphaned)


def _titled(board: Board, node: int, rows: Mapping[int, Frame]) -> dict[Rank, Frame | None]:
    """The ranks that have, or had, a process; None: it is known to be gone."""
    found: dict[Rank, Frame | None] = {}
    for row in sorted(rows.values(), key=_rightful):
        axes = title_axes(str(row.get("title") or ""))
        rank = seated(board, node, axes) if axes is not None else None
        if rank is not None:
            found.setdefault(rank, row)
    unseen = [s.rank for s in board.ranks.values() if s.node == node and s.pid is None and s.rank not in found]
    return {**found, **unnamed(board, node, rows, unseen)} if unseen else found


def _rightful(row: Frame) -> tuple[bool, int, int]:
    """A fork of a scheduler has its title until it becomes something else: who lives comes first, then the oldest."""
    return row.get("state") in DEAD, int(row.get("start") or 0), int(row["pid"])


def _alive(state: RankState, row: Frame, at: float) -> RankState:
    cpu = float(row.get("cpu_s") or 0.0)
    worked = cpu - state.cpu_s >= CPU_STEP
    read = int(row.get("read_bytes") or 0)
    has_read = read - state.read_bytes >= READ_STEP
    busy = (worked or has_read) and state.stage in BUSY
    first = at if state.since is None else state.since
    state = replace(
        state,
        pid=int(row["pid"]),
        alive=True,
        state=str(row.get("state") or ""),
        since=first,
        milestone=state.milestone or "process started",
        cpu_s=cpu if worked else state.cpu_s,
        read_bytes=read if has_read else state.read_bytes,
        moved=at if busy or state.moved is None else state.moved,
    )
    memory = row.get("rss_mib")
    return state if state.gpu is not None or memory is None else _memory(state, int(memory), at)


def _dead(state: RankState, row: Frame | None, at: float, *, orphaned: bool) -> RankState:
    signal = row.get("signal") if row is not None else None
    pid = state.pid if row is None else int(row["pid"])
    return replace(
        state, alive=False, pid=pid, state="Z", died=at, died_in=state.stage, orphaned=orphaned, signal=signal, since=at
    )


def _memory(state: RankState, mib: int, at: float) -> RankState:
    grown = state.memory_mib is None or abs(mib - state.memory_mib) >= MEMORY_STEP
    return replace(state, memory_mib=mib, moved=at if grown else state.moved)


def _helpers(board: Board, node: int, rows: Mapping[int, Frame], at: float) -> Board:
    state = board.nodes[node]
    living = [row for row in rows.values() if row.get("state") not in DEAD]
    detokenizer = any(str(row.get("title") or "").startswith("sglang::detokenizer") for row in living)
    compilers = [(m[1], row) for row in living if (m := _COMPILER.match(str(row.get("title") or "")))]
    compiled = {int(row["pid"]): float(row.get("cpu_s") or 0.0) for _, row in compilers}
    before = state.compiled
    compiles = any(pid not in before or used - before[pid] >= CPU_STEP for pid, used in compiled.items())
    known = detokenizer if detokenizer or state.detokenizer is not None else None
    cpu = sum(float(row.get("cpu_s") or 0.0) for row in living)
    unseen = any(rank.node == node and rank.pid is None for rank in board.ranks.values())  # Python imports for long
    worked = unseen and cpu - state.cpu_s >= CPU_STEP
    changed = replace(
        state,
        detokenizer=known,
        compiling=compilers[0][0] if compilers else "",
        compiled=compiled if compiles else before,
        moved=at if compiles or worked else state.moved,
        cpu_s=cpu if worked else state.cpu_s,
    )
    return replace(board, nodes={**board.nodes, node: changed})
