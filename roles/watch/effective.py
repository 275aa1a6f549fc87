"""Board of a server that is up -> what it really has: memory by rank and stage, KV tokens, requests at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roles.watch.board import Board

# What /server_info calls them, the newest name first.
NAMES = {
    "kv_tokens": ("max_total_num_tokens",),
    "max_running_requests": ("effective_max_running_requests_per_dp", "max_running_requests"),
    "max_input_tokens": ("max_req_input_len",),
}


def effective(board: Board) -> dict[str, Any]:
    """`memory_mib` by rank, and the numbers of NAMES; None for what the server does not tell."""
    told: Mapping[str, Any] = board.settings or {}
    found: dict[str, Any] = {"memory_mib": {state.label: state.memory_mib for state in board.ranks.values()}}
    for name, keys in NAMES.items():
        found[name] = next((told[key] for key in keys if isinstance(told.get(key), int)), None)
    return found


def stages(board: Board) -> list[tuple[str, int, int]]:
    """(stage or "", least, most MiB of a rank) for each pipeline stage; stages without a figure are left out."""
    by_stage: dict[int, list[int]] = {}
    for rank, state in board.ranks.items():
        if state.memory_mib is not None:
            by_stage.setdefault(rank.pp, []).append(state.memory_mib)
    several = len({rank.pp for rank in board.ranks}) > 1
    return [(f"PP{stage}" if several else "", min(each), max(each)) for stage, each in sorted(by_stage.items())]
