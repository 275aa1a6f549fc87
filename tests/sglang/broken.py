"""What the tests that break the real SGLang share: a profile of two ranks, and how long after the fault it was said."""

from __future__ import annotations

import time
from typing import Any

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.labs import disk
from tests.sglang.real import listens

PORT = 31040
DEPLOY = ("deploy", "--host", "lab", "--profile", "two")
TWO: dict[str, Any] = {  # half the time of four ranks on two cores
    "layout": {"tp": 2},
    "flags": {"device": "cpu", "load_format": "dummy", "max_total_tokens": 2048, "mem_fraction_static": 0.1},
    "environment": {
        "SGLANG_USE_CPU_ENGINE": "1",
        "HF_HUB_OFFLINE": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "PYTHONUNBUFFERED": "1",
        "SGLANG_CPU_OMP_THREADS_BIND": "0|1",
    },
}


def two(**changes: Any) -> dict[str, Any]:
    """TWO with these fields laid over it, key by key where both are mappings."""
    laid = {key: {**TWO.get(key, {}), **value} if isinstance(value, dict) else value for key, value in changes.items()}
    return {**TWO, **laid}


def took(fault: str, since: float) -> float:
    """Print the seconds from a fault until now: `pytest -rP` shows them."""
    seconds = time.time() - since
    print(f"{fault}: said after {seconds:.2f} s")
    return seconds


def nothing_is_left(host: LabHost, port: int = PORT) -> bool:
    """No process of a server, nobody on its port."""
    return seen.servers(host) == [] and not listens(host, port)


def log_of(host: LabHost) -> str:
    """The log of the host's only run; empty while there is none."""
    paths = (disk(host) / ".allranks/runs").glob("*/server.log")
    return "".join(path.read_text(errors="replace") for path in paths)
