"""Quantizations and attention backends -> the compute capabilities that SGLang takes for them. Each row has its source.

Read in 0.5.9, 0.5.12, 0.5.16, 0.5.19, 0.5.21 and 0.5.23; a release between two that differ gets the wider row. What no
source tells (flashmla, cutlass_mla ...) has no row: SGLang itself says so then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from roles.plan.flags.table import in_order

ATTENTION = ("attention_backend", "decode_attention_backend", "prefill_attention_backend")
ANY = 99.0


class Able(NamedTuple):
    """`value` of a flag is for GPUs of capability `least` to `most`; `until`: the last release that is known for it."""

    value: str
    least: float
    most: float = ANY
    until: str = ""


# layers/quantization/*.py, get_min_capability
QUANTIZATION = (
    Able("fp8", 8.0),  # below 8.9 by Marlin
    Able("w8a8_fp8", 8.9),
    Able("modelopt_fp8", 8.9),
    Able("modelopt_fp4", 10.0, until="0.5.12"),
    Able("modelopt_fp4", 8.0),  # since 0.5.16 at the latest
    Able("mxfp4", 8.0),
    Able("w4afp8", 9.0),
)
# server_args.py (0.5.9), arg_groups/overrides.py and attention_hook.py (0.5.23), attention_registry.py
BACKENDS = (
    Able("fa3", 8.0, 9.9),
    Able("trtllm_mla", 10.0, 12.9),
    Able("trtllm_mha", 10.0, 10.9, until="0.5.9"),
    Able("trtllm_mha", 9.0, 12.9),
)


def unable(flags: Mapping[str, Any], version: str | None, capability: float) -> Iterator[tuple[str, Able]]:
    """(flag, row) of what a GPU of this capability cannot do in this release of SGLang."""
    for keys, rows in ((("quantization",), QUANTIZATION), (ATTENTION, BACKENDS)):
        for key in keys:
            row = _row(rows, flags.get(key), version)
            if row and not row.least <= capability <= row.most:
                yield key, row


def _row(rows: tuple[Able, ...], value: Any, version: str | None) -> Able | None:
    for row in rows:
        if row.value == value and (not row.until or (version and in_order(version) <= in_order(row.until))):
            return row
    return None
