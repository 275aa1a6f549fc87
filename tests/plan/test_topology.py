import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.inventory import Host, InputError, Layout, Profile, Rank
from roles.plan import Plan, plan_for
from roles.plan.topology import places, title


def profile(flags: dict[str, object] | None = None, /, **layout: int) -> Profile:
    return Profile.model_validate({"name": "p", "model": "m", "layout": layout, "flags": flags or {}})


def hosts(number: int, gpus: int | None = None) -> list[Host]:
    return [Host(name=f"h{node}", gpus=gpus) for node in range(number)]


def planned(made: Profile, gpus: int | None = None) -> Plan:
    return plan_for(made, hosts(made.layout.nnodes, gpus))


def seating(plan: Plan) -> dict[str, list[str]]:
    """Host: its ranks, by GPU where there are GPUs."""
    by_host: dict[str, list[str]] = {}
    for seat in sorted(plan.ranks, key=lambda seat: (seat.node, seat.gpu or 0)):
        by_host.setdefault(seat.host, []).append(seat.label)
    return by_host


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ({"tp": 8, "nnodes": 2}, {"h0": "TP0 TP1 TP2 TP3", "h1": "TP4 TP5 TP6 TP7"}),
        ({"tp": 2, "pp": 2}, {"h0": "PP0TP0 PP0TP1 PP1TP0 PP1TP1"}),
        ({"tp": 2, "pp": 2, "nnodes": 2}, {"h0": "PP0TP0 PP0TP1", "h1": "PP1TP0 PP1TP1"}),
        (
            {"tp": 4, "pp": 2, "nnodes": 4},
            {"h0": "PP0TP0 PP0TP1", "h1": "PP0TP2 PP0TP3", "h2": "PP1TP0 PP1TP1", "h3": "PP1TP2 PP1TP3"},
        ),
        (
            {"tp": 2, "pp": 4, "nnodes": 2},
            {"h0": "PP0TP0 PP0TP1 PP1TP0 PP1TP1", "h1": "PP2TP0 PP2TP1 PP3TP0 PP3TP1"},
        ),
        ({"pp": 2, "nnodes": 2}, {"h0": "PP0", "h1": "PP1"}),
        ({"tp": 2, "dp": 2}, {"h0": "DP0TP0 DP0TP1 DP1TP0 DP1TP1"}),
        ({}, {"h0": "TP0"}),
    ],
)
def test_ranks_sit_where_sglang_starts_them(layout: dict[str, int], expected: dict[str, str]) -> None:
    found = seating(planned(profile(**layout), gpus=8))

    assert {host: " ".join(label.replace(" ", "") for label in labels) for host, labels in found.items()} == expected


def starts_of_a_node(layout: Layout, node: int) -> set[tuple[int, int, int]]:
    """(pp, tp, gpu) of a node, told the other way round: as SGLang's launcher walks through its own ranks."""
    stages, nodes = max(layout.pp // layout.nnodes, 1), max(layout.nnodes // layout.pp, 1)
    width = layout.tp // nodes
    first_stage, first_tp = stages * (node // nodes), width * (node % nodes)
    return {(first_stage + stage, first_tp + tp, stage * width + tp) for stage in range(stages) for tp in range(width)}


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Those that complete: pp and nnodes divide each other, tp the nodes of a stage."""
    pp, across = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    if draw(st.booleans()):
        nnodes = draw(st.sampled_from([n for n in range(1, pp + 1) if pp % n == 0]))
        return Layout(tp=draw(st.integers(1, 8)), pp=pp, nnodes=nnodes)
    return Layout(tp=across * draw(st.integers(1, 4)), pp=pp, nnodes=pp * across)


@given(layouts())
def test_each_node_gets_the_ranks_and_gpus_its_launcher_takes(layout: Layout) -> None:
    found = places(Profile(name="p", model="m", layout=layout))

    for node in range(layout.nnodes):
        here = {(place.rank.pp, place.rank.tp, place.slot) for place in found if place.node == node}
        assert here == starts_of_a_node(layout, node)
    assert {place.rank for place in found} == {Rank(pp, tp) for pp in range(layout.pp) for tp in range(layout.tp)}
    assert [place.node for place in found] == sorted(place.node for place in found)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"pp": 3, "nnodes": 2, "tp": 2}, "layout: pp=3 and nnodes=2; one must be a multiple of the other"),
        ({"pp": 3, "nnodes": 4, "tp": 4}, "layout: pp=3 and nnodes=4; one must be a multiple of the other"),
        ({"pp": 6, "nnodes": 4, "tp": 2}, "layout: pp=6 and nnodes=4; one must be a multiple of the other"),
        ({"tp": 3, "nnodes": 2}, "layout: tp=3 over 2 nodes a stage; tp must be a multiple of 2"),
        ({"dp": 2, "nnodes": 2, "tp": 2}, "layout: dp=2 replicas cannot be spread over nnodes=2"),
        ({"tp": 4, "ep": 3}, "layout: ep=3 does not divide tp=4"),
        ({"tp": 2, "ep": 4}, "layout: ep=4 does not divide tp=2"),
    ],
)
def test_a_layout_that_would_never_complete_is_refused(layout: dict[str, int], message: str) -> None:
    with pytest.raises(InputError) as caught:
        planned(profile(**layout))

    assert str(caught.value).startswith(f"profile p: {message}")


def test_attention_dp_must_divide_the_tensor_group() -> None:
    with pytest.raises(InputError, match="dp=3 does not divide tp=4; attention DP splits the TP group"):
        planned(profile({"enable_dp_attention": True}, tp=4, dp=3))


@pytest.mark.parametrize(
    ("flags", "layout", "rank", "expected"),
    [
        ({}, {}, Rank(), "sglang::scheduler"),
        ({}, {"tp": 2, "pp": 2}, Rank(1, 0), "sglang::scheduler_PP1_TP0"),
        ({}, {"pp": 2}, Rank(1), "sglang::scheduler_PP1"),
        ({}, {"tp": 8}, Rank(0, 3), "sglang::scheduler_TP3"),
        ({}, {"dp": 2}, Rank(dp=1), "sglang::scheduler_DP1"),
        ({}, {"dp": 2, "tp": 2, "pp": 2}, Rank(1, 0, 1), "sglang::scheduler_DP1_PP1_TP0"),
        ({}, {"tp": 4, "ep": 4}, Rank(0, 3), "sglang::scheduler_TP3_EP3"),
        ({}, {"tp": 4, "ep": 2}, Rank(0, 3), "sglang::scheduler_TP3_EP1"),
        ({"moe_a2a_backend": "deepep"}, {"tp": 4}, Rank(0, 2), "sglang::scheduler_TP2_EP2"),
        ({"moe_a2a_backend": "none"}, {"tp": 4}, Rank(0, 2), "sglang::scheduler_TP2"),
    ],
)
def test_titles_are_spelled_as_ps_will_show_them(
    flags: dict[str, object], layout: dict[str, int], rank: Rank, expected: str
) -> None:
    assert title(profile(flags, **layout), rank) == expected


def test_attention_dp_numbers_parts_of_the_tensor_group() -> None:
    plan = planned(profile({"enable_dp_attention": True}, tp=4, dp=2, ep=4), gpus=4)

    assert [(seat.title, seat.gpu) for seat in plan.ranks] == [
        ("sglang::scheduler_DP0_TP0_EP0", 0),
        ("sglang::scheduler_DP0_TP1_EP1", 1),
        ("sglang::scheduler_DP1_TP2_EP2", 2),
        ("sglang::scheduler_DP1_TP3_EP3", 3),
    ]
    assert [seat.label for seat in plan.ranks] == ["DP0 TP0", "DP0 TP1", "DP1 TP2", "DP1 TP3"]


def test_replicas_take_gpus_one_after_the_other() -> None:
    plan = planned(profile(tp=2, pp=2, dp=2), gpus=8)

    assert [seat.gpu for seat in plan.ranks] == list(range(8))
