"""Layout -> where each rank sits, and the title SGLang will give its process.

The map is SGLang's own (entrypoints/engine.py, the same formula from 0.4.9 to 0.5.23): tensor parallel ranks fill a
node first, pipeline stages go across nodes. Titles are those of 0.5.9 and later: DP PP TP EP, size-one axes left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roles.inventory.errors import InputError
from roles.inventory.rank import Rank

if TYPE_CHECKING:
    from roles.inventory.profile import Profile

# `moe_a2a_backend` values that leave expert parallelism as it was asked for; all others set it to tp.
_NO_ALL_TO_ALL = {None, False, "none"}


@dataclass(frozen=True)
class Place:
    """A rank on a node; `slot` counts the GPUs that the deployment uses on that node."""

    rank: Rank
    node: int
    slot: int


def places(profile: Profile) -> tuple[Place, ...]:
    """Every rank with its place, by replica, stage and tensor rank; so also by node."""
    check_layout(profile)
    return tuple(_places(profile))


def _places(profile: Profile) -> Iterator[Place]:
    layout = profile.layout
    stages_per_node = max(layout.pp // layout.nnodes, 1)
    nodes_per_stage = max(layout.nnodes // layout.pp, 1)
    tp_per_node = layout.tp // nodes_per_stage
    for replica in range(1 if profile.attention_dp else layout.dp):
        for pp in range(layout.pp):
            for tp in range(layout.tp):
                dp = tp // (layout.tp // layout.dp) if profile.attention_dp else replica
                node = pp // stages_per_node * nodes_per_stage + tp // tp_per_node
                slot = pp % stages_per_node * tp_per_node + tp % tp_per_node
                yield Place(Rank(pp, tp, dp), node, replica * layout.tp * layout.pp + slot)


def title(profile: Profile, rank: Rank) -> str:
    """`sglang::scheduler_PP0_TP1`."""
    layout = profile.layout
    experts = expert_parallel(profile)
    axes = [
        ("DP", rank.dp, layout.dp),
        ("PP", rank.pp, layout.pp),
        ("TP", rank.tp, layout.tp),
        ("EP", rank.tp // (layout.tp // experts), experts),
    ]
    return "_".join(["sglang::scheduler", *(f"{axis}{place}" for axis, place, size in axes if size > 1)])


def spread(profile: Profile, hosts: int) -> Profile:
    """A profile that does not say `nnodes` is spread over as many hosts as it is given, if its ranks can be."""
    layout = profile.layout
    if hosts < 2 or "nnodes" in layout.model_fields_set or (layout.tp * layout.pp) % hosts:
        return profile
    return profile.model_copy(update={"layout": layout.model_copy(update={"nnodes": hosts})})


def expert_parallel(profile: Profile) -> int:
    """The expert parallel size that SGLang will use."""
    backend = profile.flags.get("moe_a2a_backend")
    return profile.layout.ep if backend in _NO_ALL_TO_ALL else profile.layout.tp


def check_layout(profile: Profile) -> None:
    """Refuse layouts that cannot start, and those that SGLang accepts but that never complete."""
    layout, dp = profile.layout, profile.layout.dp
    tp, pp, nodes = layout.tp, layout.pp, layout.nnodes
    if tp % layout.ep:
        raise _wrong(profile, f"ep={layout.ep} does not divide tp={tp}", "each expert group is part of a TP group")
    if profile.attention_dp and tp % dp:
        raise _wrong(profile, f"dp={dp} does not divide tp={tp}", "attention DP splits the TP group")
    if nodes > 1 and dp > 1 and not profile.attention_dp:
        why = "set flags.enable_dp_attention: true, or deploy one replica a host"
        raise _wrong(profile, f"dp={dp} replicas cannot be spread over nnodes={nodes}", why)
    # SGLang only asserts tp * pp % nnodes == 0. What passes that but not this waits for ever for ranks nobody starts.
    if pp % nodes and nodes % pp:
        raise _wrong(profile, f"pp={pp} and nnodes={nodes}", "one must be a multiple of the other")
    if nodes > pp and tp % (nodes // pp):
        raise _wrong(profile, f"tp={tp} over {nodes // pp} nodes a stage", f"tp must be a multiple of {nodes // pp}")


def _wrong(profile: Profile, found: str, why: str) -> InputError:
    return InputError(f"profile {profile.name}: layout: {found}", do=why)
