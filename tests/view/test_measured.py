"""Figures of a measurement in words: with date, versions, what they are, and who needs the host's memory."""

from __future__ import annotations

from typing import Any

from roles.view.measured import lines

FOUND: dict[str, Any] = {
    "t": 1795982971.0,
    "profile": "tp2",
    "environment": {"NCCL_NVLS_ENABLE": "0"},
    "left_out": ["PP0 TP0 to PP0 TP3 spans a, b"],
    "device": "cuda",
    "gpus": [2, 3],
    "sizes": [16384, 67108864],
    "repeats": [50, 10],
    "copy": 268435456,
    "about": {"torch": "2.11.0+cu130", "nccl": "2.28.9"},
    "copies": [
        {"from": 0, "to": 1, "bytes": 268435456, "seconds": 0.00068, "peer": True},
        {"from": 1, "to": 0, "bytes": 268435456, "seconds": 0.0107, "peer": False},
    ],
    "groups": [
        {
            "name": "TP0 to TP1",
            "what": "all_reduce",
            "ranks": [0, 1],
            "rows": [{"bytes": 16384, "seconds": 21e-6}, {"bytes": 67108864, "seconds": 0.00025}],
        }
    ],
}


def test_figures_say_when_with_what_and_what_they_are() -> None:
    assert list(lines(FOUND)) == [
        "measured 2026-11-29 20:09 UTC for tp2 (torch 2.11.0+cu130, NCCL 2.28.9)",
        "  with NCCL_NVLS_ENABLE=0",
        "  copies, GB/s  to GPU2     to GPU3",
        "  from GPU2     -           394.8",
        "  from GPU3     25.1        -",
        "  no peer access (copies go through the host's memory): GPU3 -> GPU2",
        "  all-reduce  TP0 to TP1  16 KiB 21 µs   64 MiB 250 µs (268.4 GB/s, bus 268.4)",
        "  not measured: PP0 TP0 to PP0 TP3 spans a, b",
        "  a copy is 256 MiB; so many back to back (50 at 16 KiB, 10 at 64 MiB), medians of the slowest rank; "
        "bus: bytes on the wire per rank and second",
    ]
