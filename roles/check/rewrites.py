"""Settings that SGLang changes by itself, and why: (name, when, reason). A change with a reason is no difference.

Sources: server_args.py and arg_groups/ of 0.5.9 and 0.5.23.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from roles.plan import Plan


class Rewrite(NamedTuple):
    """`holds` says whether the change of this setting is the one that the reason explains."""

    name: str
    holds: Callable[[Plan, Any, Any, Mapping[str, Any]], bool]
    reason: str


def _pipelined(plan: Plan, asked: Any, found: Any, _: Mapping[str, Any]) -> bool:
    return plan.profile.layout.pp > 1 and found is True


def _split(plan: Plan, asked: Any, found: Any, _: Mapping[str, Any]) -> bool:
    dp = plan.profile.layout.dp
    return plan.profile.attention_dp and str(asked).isdigit() and found == int(asked) // dp


def _attention_dp(plan: Plan, asked: Any, found: Any, told: Mapping[str, Any]) -> bool:
    return plan.profile.attention_dp and told.get("attn_dp_size") == plan.profile.layout.dp


def _all_to_all(plan: Plan, asked: Any, found: Any, told: Mapping[str, Any]) -> bool:
    return told.get("moe_a2a_backend") not in (None, "none") and found == plan.profile.layout.tp


def _one_replica(plan: Plan, asked: Any, found: Any, _: Mapping[str, Any]) -> bool:
    return plan.profile.layout.dp == 1 and found is False


def _capped(plan: Plan, asked: Any, found: Any, _: Mapping[str, Any]) -> bool:
    return str(asked).isdigit() and isinstance(found, int) and found < int(asked)


def _on_cpu(plan: Plan, asked: Any, found: Any, told: Mapping[str, Any]) -> bool:
    return told.get("device") == "cpu"


REWRITES = (
    Rewrite("disable_overlap_schedule", _pipelined, "pipeline parallelism excludes the overlap schedule"),
    Rewrite("chunked_prefill_size", _split, "attention DP divides it among its groups"),
    Rewrite("dp_size", _attention_dp, "since 0.5.22 attention DP is attn_dp_size beside dp_size 1"),
    Rewrite("ep_size", _all_to_all, "an all-to-all backend makes every tensor rank an expert rank"),
    Rewrite("enable_dp_attention", _one_replica, "there is one replica"),
    Rewrite("max_total_tokens", _capped, "memory holds no more"),
    Rewrite("attention_backend", _on_cpu, "the CPU has backends of its own"),
    Rewrite("disable_cuda_graph", _on_cpu, "there are no CUDA graphs on a CPU"),
)


def reason(plan: Plan, name: str, asked: Any, found: Any, told: Mapping[str, Any]) -> str:
    """Why SGLang changed a setting, or ''."""
    return next((row.reason for row in REWRITES if row.name == name and row.holds(plan, asked, found, told)), "")
