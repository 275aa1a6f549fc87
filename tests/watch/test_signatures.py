"""Every wording of the failures that were collected from SGLang's source and its issues: known, with something to do.

The numbers are those of the collection; (33), silence after a milestone, is a stall (test_verdict.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roles.watch import Kind, LineReader, classify
from roles.watch.events import WORDS

WORDINGS = json.loads(Path(__file__).with_name("wordings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("id_", "text"), [(row["id"], text) for row in WORDINGS for text in row["lines"]], ids=lambda value: value[:60]
)
def test_a_wording_is_known_for_what_it_is(id_: str, text: str) -> None:
    (line,) = LineReader().feed(text + "\n")
    event = classify(line)

    assert event is not None and event.failure is not None, "no row knows it"
    assert event.failure.id == id_
    assert event.failure.do and event.failure.cause
    assert any(word in text for word in WORDS)


def test_none_of_the_collection_is_missing() -> None:
    assert [row["number"] for row in WORDINGS] == list(range(1, 33))


def test_the_disk_that_is_full_is_a_signature_of_its_own() -> None:
    event = classify(LineReader().feed("OSError: [Errno 28] No space left on device\n")[0])

    assert event is not None and event.failure is not None and event.failure.id == "disk-full"


BENIGN = (  # each seen in runs that were well, or beside faults that it had nothing to do with
    "/srv/x/parallel_state.py:1637: UserWarning: The given buffer is not writable, and PyTorch does not support it",
    "[rank0]:[W1129 15:14:59.6 ProcessGroupNCCL.cpp:4094] Warning: An unbatched P2P op (send/recv) was called on this",
    "nanobind: leaked 4 instances!",
    "nanobind: this is likely caused by a reference counting issue in the binding code.",
    "See https://nanobind.readthedocs.io/en/latest/refleaks.html",
    "[2026-11-29 14:37:55 TP1] Ignore import error when loading sglang.srt.models.x: No module named 'torchaudio'",
    "[2026-11-29 14:37:55] Pyspy failed to dump PID 77. Error: py-spy: not found",
    "/bin/sh: 1: py-spy: not found",
    "[2026-11-29 14:37:55] Starting dummy health check server at 0.0.0.0:8001",
    "[2026-11-29 14:37:55] Dummy health check server started in background thread at 0.0.0.0:8001",
    "[2026-11-29 14:37:55] Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit",
    "[2026-11-29 14:37:55 TP0] Setup Custom allreduce failed with . To silence this warning, specify",
    "[2026-11-29 14:37:55 TP0] Custom allreduce is disabled because your platform lacks GPU P2P capability",
    "[Gloo] Rank 0 is connected to 7 peer ranks. Expected number of connected peer ranks is : 7",
    "[2026-11-29 14:37:55] '--disable-cuda-graph' is deprecated and will be removed",
    "[2026-11-29 14:37:55] kill_process_tree called: parent_pid=1, include_parent=False, pid=1",
)


@pytest.mark.parametrize("text", BENIGN, ids=lambda text: text[:60])
def test_a_benign_line_is_never_a_failure(text: str) -> None:
    (line,) = LineReader().feed(text + "\n")
    event = classify(line)

    assert event is not None and event.kind in (Kind.NOISE, Kind.DUMMY)
