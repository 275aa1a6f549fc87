"""What a server really has, in words: memory by stage, KV tokens, requests at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from roles.inventory.rank import Rank
from roles.view.report import memory_of, serves
from roles.watch import Board, expect
from roles.watch.effective import effective
from tests.watch.frames import Seat, Sizes


def board(memory: Mapping[Rank, int | None], settings: Mapping[str, object], gpu: int | None = 0) -> Board:
    places = [Seat(rank, f"PP{rank.pp} TP{rank.tp}", 0, "a", gpu, "t") for rank in memory]
    blank = expect(places, layout=Sizes(2, 2), hosts=["a"])
    ranks = {rank: replace(state, memory_mib=memory[rank]) for rank, state in blank.ranks.items()}
    return replace(blank, ranks=ranks, settings=settings)


TOLD = {"max_total_num_tokens": 262144, "effective_max_running_requests_per_dp": 1024, "max_running_requests": None}


def test_stages_that_take_different_memory_are_told_apart() -> None:
    seen = board({Rank(0, 0): 71000, Rank(0, 1): 71200, Rank(1, 0): 65000, Rank(1, 1): 65000}, TOLD)

    assert memory_of(seen) == "PP0 71,000 to 71,200 MiB, PP1 65,000 MiB a rank, of its GPU"
    assert serves(seen) == "262,144 tokens of KV cache, 1,024 requests at a time"


def test_what_is_not_told_is_left_out() -> None:
    seen = board({Rank(0, 0): None}, {}, gpu=None)

    assert (memory_of(seen), serves(seen)) == ("", "")
    assert effective(seen) == {
        "memory_mib": {"PP0 TP0": None},
        "kv_tokens": None,
        "max_running_requests": None,
        "max_input_tokens": None,
    }
