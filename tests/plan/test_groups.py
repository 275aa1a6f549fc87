"""Who talks to whom: the groups of a plan's ranks on each node."""

from __future__ import annotations

from pathlib import Path

from roles.inventory import load
from roles.plan import Plan, plan_for
from roles.plan.groups import groups

ROOT = Path(__file__).resolve().parents[2]


def plan(profile: str, *overrides: str, hosts: str = "gpu-lxc") -> Plan:
    inventory = load(ROOT)
    return plan_for(inventory.profile(profile, overrides), inventory.hosts(hosts))


def names(made: Plan, node: int = 0) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(group.what, group.name, group.ranks) for group in groups(made, made.nodes[node])]


def test_each_stage_is_a_group_and_each_of_its_ranks_sends_to_the_next_stage() -> None:
    assert names(plan("tp4pp2")) == [
        ("all_reduce", "PP0 TP0 to PP0 TP3", (0, 1, 2, 3)),
        ("all_reduce", "PP1 TP0 to PP1 TP3", (4, 5, 6, 7)),
        ("p2p", "PP0 TP0 -> PP1 TP0", (0, 4)),
        ("p2p", "PP0 TP1 -> PP1 TP1", (1, 5)),
        ("p2p", "PP0 TP2 -> PP1 TP2", (2, 6)),
        ("p2p", "PP0 TP3 -> PP1 TP3", (3, 7)),
    ]


def test_replicas_have_groups_of_their_own_and_attention_dp_does_not() -> None:
    replicas = plan("tp8", "tp=2", "dp=2")
    attention = plan("tp8", "tp=4", "dp=2", "flags.enable_dp_attention=true")

    assert [ranks for _, _, ranks in names(replicas)] == [(0, 1), (2, 3)]
    assert [ranks for _, _, ranks in names(attention)] == [(0, 1, 2, 3)]


def test_one_rank_talks_to_nobody() -> None:
    assert names(plan("tp8", "tp=1")) == []
