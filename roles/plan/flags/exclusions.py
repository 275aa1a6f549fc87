"""Flags that exclude each other in some releases. SGLang's parser takes them; its own checks end it, after the imports.

Read in the sources of 0.5.9, 0.5.12, 0.5.16, 0.5.19, 0.5.21 and 0.5.23: a row holds from `since` to `until`, the
releases in which it was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from roles.plan.flags.table import in_order

Asked = Mapping[str, Sequence[str]]  # setting -> the words given for it; a bare flag has none


class Exclusion(NamedTuple):
    """`one` and `other`: setting, and the value it excludes with ("" any, ">1" more than one)."""

    one: tuple[str, str]
    other: tuple[str, str]
    since: str = ""
    until: str = ""


ROWS = (
    Exclusion(("pp_size", ">1"), ("speculative_algorithm", ""), until="0.5.16"),
    Exclusion(("pp_size", ">1"), ("enable_mixed_chunk", ""), until="0.5.9"),
    Exclusion(("speculative_algorithm", ""), ("attention_backend", "flex_attention"), since="0.5.9"),
    Exclusion(("moe_runner_backend", "triton_kernel"), ("ep_size", ">1"), since="0.5.9", until="0.5.9"),
    Exclusion(("enable_hisparse", ""), ("enable_mixed_chunk", ""), since="0.5.23"),
    Exclusion(("attn_cp_size", ">1"), ("pp_size", ">1"), since="0.5.9", until="0.5.9"),
    Exclusion(("moe_dp_size", ">1"), ("pp_size", ">1"), since="0.5.9", until="0.5.9"),
)


def excluded(asked: Asked, version: str) -> Iterator[tuple[str, str]]:
    """(flag, flag) of each pair that this release does not take together."""
    now = in_order(version)
    for row in ROWS:
        late = row.until and now > in_order(row.until)
        early = row.since and now < in_order(row.since)
        if not late and not early and _has(asked, row.one) and _has(asked, row.other):
            yield _flag(*row.one), _flag(*row.other)


def _has(asked: Asked, wanted: tuple[str, str]) -> bool:
    name, value = wanted
    if name not in asked:
        return False
    given = asked[name][0] if asked[name] else ""
    if value == ">1":
        return given.isdigit() and int(given) > 1
    return value in ("", given)


def _flag(name: str, value: str) -> str:
    return f"--{name.replace('_', '-')}" + (f" {value}" if value and value != ">1" else "")
