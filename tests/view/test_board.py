"""The board as a person sees it: rows, what is left out on a narrow terminal, what is said below the rows."""

from dataclasses import replace

from rich.console import Console

from roles.inventory.rank import Rank
from roles.view.board import ROWS, board
from roles.watch import Board, Stage, expect
from tests.watch.frames import Seat, Sizes


def made(tp: int, *, gpus: bool = True) -> Board:
    places = [
        Seat(Rank(tp=n), f"TP{n}", 0, "gpu-lxc", n if gpus else None, f"sglang::scheduler_TP{n}") for n in range(tp)
    ]
    return expect(places, layout=Sizes(tp), expected={}, hosts=["gpu-lxc"], port=8000)


def seen(state: Board, width: int = 100) -> str:
    out = Console(width=width, record=True, force_terminal=False, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    out.print(board(state, 1000.0, width))
    return out.export_text()


def test_each_rank_has_a_row_with_host_gpu_stage_time_and_memory() -> None:
    state = made(2)
    first = replace(
        state.ranks[Rank(tp=0)], stage=Stage.LOADING, milestone="weights loading", since=988.0, memory_mib=81920
    )

    text = seen(replace(state, ranks={**state.ranks, Rank(tp=0): first}))

    row = next(line for line in text.splitlines() if "TP0" in line)
    assert row.split() == ["▸", "TP0", "gpu-lxc", "0", "weights", "loading", "12", "s", "81,920", "MiB"]
    assert any(line.split()[:3] == ["·", "TP1", "gpu-lxc"] for line in text.splitlines())


def test_ranks_that_have_said_nothing_yet_show_that_time_goes_by() -> None:
    state = replace(made(1), started=940.0)
    nodes = {0: replace(state.nodes[0], main_alive=True)}

    assert "TP0   gpu-lxc    0  waiting  1 min" in seen(state)
    assert "waiting: SGLang is importing  1 min" in seen(replace(state, nodes=nodes))


def test_hosts_without_gpus_have_no_gpu_column() -> None:
    assert "GPU" in seen(made(1))
    assert "GPU" not in seen(made(1, gpus=False))


def test_a_narrow_terminal_keeps_rank_stage_and_time() -> None:
    text = seen(made(2), width=50)

    assert "gpu-lxc" not in text
    assert "TP1" in text and "waiting" in text
    assert all(len(line) <= 50 for line in text.splitlines())


def test_of_very_many_ranks_those_that_are_behind_stay() -> None:
    state = made(64)
    ready = {rank: replace(one, stage=Stage.READY) for rank, one in state.ranks.items() if rank.tp != 40}

    text = seen(replace(state, ranks={**state.ranks, **ready}))

    assert "TP40" in text and "63 more" in text
    assert len(text.splitlines()) < ROWS + 6


def test_a_lost_connection_a_foreign_holder_and_shards_are_said_below() -> None:
    state = made(1)
    node = replace(state.nodes[0], connected=False, lost_at=990.0, holder={"pid": 77, "ours": False})

    lost = seen(replace(state, nodes={0: node}, shards=(3, 12)))
    foreign = seen(replace(state, nodes={0: replace(node, connected=True)}))

    assert "connection lost 10 s ago" in lost and "goes on by itself" in lost
    assert "3/12" in lost
    assert "held by pid 77, not ours" in foreign
