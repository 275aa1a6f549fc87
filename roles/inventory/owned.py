"""Flags and variables that the profile's own fields decide: name -> where it is written instead.

SGLang's argparse accepts any unambiguous beginning of a flag, so that `--tp` would work too: a beginning of one
of these is refused like the flag itself.
"""

from __future__ import annotations

import re

_SEVERAL_NODES = "allranks sets it for each node"
_SECRET = "a secret may not be in argv, where every user of the host can read it"

FLAGS = {
    "--model-path": "write model:",
    "--model": "write model:",
    "--served-model-name": "write served_model_name:",
    "--tp-size": "write layout.tp:",
    "--tensor-parallel-size": "write layout.tp:",
    "--pp-size": "write layout.pp:",
    "--pipeline-parallel-size": "write layout.pp:",
    "--dp-size": "write layout.dp:",
    "--data-parallel-size": "write layout.dp:",
    "--attn-dp-size": "write layout.dp: and flags.enable_dp_attention: true",
    "--ep-size": "write layout.ep:",
    "--ep": "write layout.ep:",
    "--expert-parallel-size": "write layout.ep:",
    "--nnodes": "write layout.nnodes:",
    "--node-rank": _SEVERAL_NODES,
    "--dist-init-addr": f"{_SEVERAL_NODES}; its port is dist_port:",
    "--nccl-init-addr": f"{_SEVERAL_NODES}; its port is dist_port:",
    "--host": "write host:",
    "--port": "write port:",
    "--base-gpu-id": "write gpus:",
    "--gpu-id-step": "write gpus:",
    "--config": "the profile is the configuration; write its keys as flags:",
    "--api-key": _SECRET,
    "--admin-api-key": _SECRET,
    "--ssl-keyfile-password": _SECRET,
}

# Beginnings of those that SGLang itself takes for several, by the table of flags (roles/plan/flags).
AMBIGUOUS = {
    "--pp": "since SGLang 0.5.5 (--pp-size, --pp-max-micro-batch-size, later also --pp-async-batch-depth)",
}

VARIABLES = {
    "CUDA_VISIBLE_DEVICES": "write gpus:, so that the plan knows which rank has which GPU",
    "VIRTUAL_ENV": "write venv:",
    "SGLANG_DP_RANK": "it changes the rank that every log line names",
    "SGLANG_LOGGING_CONFIG_PATH": "it changes the log's format, by which ranks are followed",
    "SGLANG_BLOCK_NONZERO_RANK_CHILDREN": "nodes above 0 would end at once",
}

# By its last word, so that TOKENIZERS_PARALLELISM and HF_TOKEN_PATH are none.
_SECRET_WORDS = {"TOKEN", "KEY", "APIKEY", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "CREDENTIALS"}

# Bash makes these up, or refuses to change them (bash(1), Shell Variables). Names of ours begin with allranks_.
_BASH = re.compile(
    r"_|BASH.*|allranks_.*|COMP_WORDBREAKS|DIRSTACK|E?UID|EPOCH(REALTIME|SECONDS)|FUNCNAME|GROUPS|HISTCMD|LINENO"
    r"|PIPESTATUS|PPID|S?RANDOM|SECONDS|SHELLOPTS"
)


def check_flag(flag: str, *, by: str) -> None:
    """Refuse `--flag` where a field of the profile decides it; `by` is the spelling the operator used."""
    if flag in FLAGS:
        raise ValueError(f"{by} is not written here: {FLAGS[flag]}")
    if longer := next((owned for owned in FLAGS if owned.startswith(flag)), None):
        if flag in AMBIGUOUS:
            raise ValueError(f"{by} is ambiguous {AMBIGUOUS[flag]}: {FLAGS[longer]}")
        raise ValueError(f"{by} would be read as short for {longer}, if it is not ambiguous: {FLAGS[longer]}")


def check_reaches(name: str) -> str:
    """Refuse a variable that would not get through the launch script unchanged."""
    if _BASH.fullmatch(name):
        raise ValueError(f"{name} cannot be set: bash keeps it for itself")
    return name


def check_variable(name: str) -> str:
    """Refuse a variable that a field decides, and a secret in plain text."""
    if name in VARIABLES:
        raise ValueError(f"{name} is not written here: {VARIABLES[name]}")
    if name.upper().rsplit("_", 1)[-1] in _SECRET_WORDS:
        raise ValueError(f"{name} looks like a secret; write secrets.{name}: env:{name} (or file:PATH)")
    return name
