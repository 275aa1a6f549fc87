"""A plan's node -> the groups of ranks there that talk to each other: tensor-parallel groups, neighbouring stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from roles.plan.plan import NodePlan, Plan, Seat


@dataclass(frozen=True)
class Group:
    """`ranks`: counted within the node. `hosts`: more than one where it has members elsewhere."""

    name: str
    what: Literal["all_reduce", "p2p"]
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]


def groups(plan: Plan, node: NodePlan) -> tuple[Group, ...]:
    """Those with a member on the node: first the tensor-parallel groups, then each rank with that of the next stage."""
    here = {seat.rank: place for place, seat in enumerate(seats_of(plan, node))}
    found = (
        Group(_name(members, what), what, tuple(here[m.rank] for m in members if m.rank in here), _hosts(members))
        for what, members in _members(plan)
    )
    return tuple(group for group in found if group.ranks)


def seats_of(plan: Plan, node: NodePlan) -> list[Seat]:
    """The ranks of a node in the order of its GPUs."""
    return [seat for seat in plan.ranks if seat.node == node.node]


def _members(plan: Plan) -> Iterator[tuple[Literal["all_reduce", "p2p"], list[Seat]]]:
    together: dict[tuple[int, int], list[Seat]] = {}
    for seat in plan.ranks:  # attention DP splits the attention of a group, its other layers are one group still
        replica = 0 if plan.profile.attention_dp else seat.rank.dp
        together.setdefault((replica, seat.rank.pp), []).append(seat)
    for members in together.values():
        if len(members) > 1:
            yield "all_reduce", members
    for (replica, stage), members in together.items():
        for one, other in zip(members, together.get((replica, stage + 1), ()), strict=False):
            yield "p2p", [one, other]


def _hosts(members: list[Seat]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(seat.host for seat in members))


def _name(members: list[Seat], what: str) -> str:
    return f"{members[0].label} {'->' if what == 'p2p' else 'to'} {members[-1].label}"
