"""Expected and effective settings, held against each other: same, filled in by SGLang, or different."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

# SGLang chooses these itself when nothing was asked (null -> value), and that is well.
FILLED_IN = frozenset(
    {
        *("mem_fraction_static", "chunked_prefill_size", "cuda_graph_max_bs", "cuda_graph_bs", "attention_backend"),
        *("sampling_backend", "grammar_backend", "page_size", "random_seed", "served_model_name", "tokenizer_path"),
        *("device", "max_running_requests", "dtype", "quantization"),
    }
)
_NOTHING = (None, "", "auto")


@dataclass(frozen=True)
class Setting:
    """One setting: what was asked, what the server reports, and what to think of that."""

    name: str
    asked: Any
    effective: Any
    outcome: Literal["same", "filled in", "different", "not reported"]

    def __str__(self) -> str:
        return f"{self.name}: asked {self.asked!r}, the server reports {self.effective!r}"


def compare(expected: Mapping[str, Any], effective: Mapping[str, Any]) -> tuple[Setting, ...]:
    """Every expected setting with its outcome; what was not asked is not compared."""
    return tuple(_setting(name, asked, effective) for name, asked in expected.items())


def _setting(name: str, asked: Any, effective: Mapping[str, Any]) -> Setting:
    found = _found(name, asked, effective)
    if name not in effective and found is None:
        return Setting(name, asked, None, "not reported")
    if _plain(found) == _plain(asked):
        return Setting(name, asked, found, "same")
    if asked in _NOTHING and (asked == "auto" or name in FILLED_IN or asked is None):
        return Setting(name, asked, found, "filled in")
    return Setting(name, asked, found, "different")


def _found(name: str, asked: Any, effective: Mapping[str, Any]) -> Any:
    found = effective.get(name)
    # since 0.5.22 attention DP of N is reported as attn_dp_size=N beside dp_size=1
    if name == "dp_size" and found != asked and effective.get("attn_dp_size") == asked:
        return asked
    return found


def _plain(value: Any) -> str:
    """As text: 30000 and "30000" are the same setting, and so are a path with and without its last slash."""
    text = str(value)
    return text.rstrip("/") if text.startswith("/") else text
