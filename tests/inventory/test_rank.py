import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.inventory import AllranksError, InputError, Layout, Lost, Rank

place = st.integers(0, 99)


@pytest.mark.parametrize("text", ["PP0 TP1", "PP0TP1", "pp0 tp1", "PP0_TP1", " PP0 TP1 ", "TP1 PP0", "TP1", "TP01"])
def test_a_rank_is_read_however_it_is_spelled(text: str) -> None:
    assert Rank.parse(text) == Rank(pp=0, tp=1)


@pytest.mark.parametrize(
    "text", ["", "TP", "1", "TP1 TP2", "XP1", "TP-1", "PP0,TP1", "TP1 x", "EP1", "TP1\nTP2", "TP٣"]
)
def test_what_is_no_rank_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="is not a rank; write for example PP0TP1"):
        Rank.parse(text)


@pytest.mark.parametrize(
    ("layout", "rank", "label"),
    [
        (Layout(), Rank(), "TP0"),
        (Layout(tp=8), Rank(tp=3), "TP3"),
        (Layout(pp=2), Rank(pp=1), "PP1"),
        (Layout(tp=4, pp=2), Rank(0, 3), "PP0 TP3"),
        (Layout(dp=2), Rank(dp=1), "DP1"),
        (Layout(tp=2, pp=2, dp=2), Rank(1, 0, 1), "DP1 PP1 TP0"),
    ],
)
def test_a_label_leaves_out_axes_of_size_one(layout: Layout, rank: Rank, label: str) -> None:
    assert rank.label(layout) == label


@given(place, place, place)
def test_a_label_reads_back_as_its_rank(pp: int, tp: int, dp: int) -> None:
    rank = Rank(pp, tp, dp)

    assert Rank.parse(rank.label(Layout(tp=100, pp=100, dp=100))) == rank


def test_ranks_sort_by_stage_then_tensor_rank() -> None:
    assert sorted([Rank(1, 0), Rank(0, 1), Rank(0, 0)]) == [Rank(0, 0), Rank(0, 1), Rank(1, 0)]


def test_an_error_says_what_is_wrong_and_what_to_do() -> None:
    assert str(InputError("no host 'x'", do="known: a")) == "no host 'x'; known: a"
    assert str(InputError("no host 'x'; did you mean y?", do="known: y")) == "no host 'x'; did you mean y? known: y"
    assert str(InputError("no host 'x'")) == "no host 'x'"


def test_every_error_has_an_exit_code_of_its_own() -> None:
    codes = [kind.exit_code for kind in AllranksError.__subclasses__()]

    assert sorted(codes) == [*range(2, 9), 10, 11]


def test_an_error_survives_a_process_pool() -> None:
    error = pickle.loads(pickle.dumps(Lost("gone", do="look")))

    assert (type(error), str(error)) == (Lost, "gone; look")


def test_errors_and_ranks_cost_no_import_of_pydantic() -> None:
    program = (
        "import sys, roles.inventory as i; i.InputError, i.Rank; assert not {'pydantic', 'yaml'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
