"""Settings that SGLang may change by itself: a change of one of these without a known reason is its own decision.

resolved.json is read out of SGLang's sources (scripts/resolved.py). Taken out of it is what says which model is served,
where, and how long a context it has: a change of that is never taken for granted.
"""

from __future__ import annotations

import json
from pathlib import Path

TABLE = Path(__file__).with_name("resolved.json")
NEVER = frozenset(
    {
        *("model_path", "tokenizer_path", "served_model_name", "chat_template", "json_model_override_args"),
        *("weight_version", "context_length", "tp_size", "pp_size", "host", "port", "grpc_port", "dist_init_addr"),
    }
)
OWN_DECISION = frozenset(name for names in json.loads(TABLE.read_text(encoding="utf-8")).values() for name in names)
OWN_DECISION -= NEVER
