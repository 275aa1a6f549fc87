"""The tables: each failure has a sample and the sentence a user sees, each spelling a line, noise is noise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roles.watch import Kind, Line, LineReader, classify
from roles.watch.evidence import Evidence
from roles.watch.failures import FAILURES
from roles.watch.noise import NOISE
from roles.watch.page import PAGE, tables
from roles.watch.releases import RELEASES
from roles.watch.spellings import SPELLINGS
from tests.watch.frames import board, exited, log, milestones, procs, said, watched

SAMPLES: dict[str, list[str]] = json.loads((Path(__file__).parent / "failure_samples.json").read_text())


def line_of(text: str) -> Line:
    return LineReader().feed(text + "\n")[0]


def test_every_failure_has_a_sample_and_something_to_do() -> None:
    assert [row.id for row in FAILURES] == list(SAMPLES)
    assert all(row.do and row.seen for row in FAILURES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_known_and_says_its_sentence(name: str) -> None:
    text, sentence = SAMPLES[name]
    event = classify(line_of(text))

    assert event is not None
    assert event.failure is not None
    assert event.failure.id == name
    found = Evidence(event.failure, event.numbers, 0, None, 0.0, text)
    assert found.cause == sentence
    assert found.todo


@pytest.mark.parametrize("name", [row.id for row in FAILURES if row.weight == "cause"])
def test_a_cause_is_what_the_verdict_says(name: str) -> None:
    on = board()
    text, sentence = SAMPLES[name]
    crash = text + "\n"
    if not text.startswith(("ERROR", "launch_server", "Initialization", "SIGTERM", "Fatal")):
        crash = said("PP0 TP1", "Scheduler hit an exception: Traceback (most recent call last):") + "  File\n" + crash
    verdict = watched(on, [(0, procs(on)), (0, log(crash)), (0, exited(101.0, 137))]).verdict(102.0)

    assert verdict.id == name
    assert sentence in verdict.sentence
    assert verdict.do


@pytest.mark.parametrize(
    ("upto", "sentence"),
    [
        ("Init parallel begin", "the GPU was full before any weight was loaded"),
        ("Load weight begin", "the weights do not fit into this GPU's memory"),
        ("Load weight end", "the GPU ran out of memory"),
        ("Memory pool end", "a request needed more GPU memory than weights, KV cache and graphs had left"),
    ],
)
def test_running_out_of_memory_means_another_thing_at_each_stage(upto: str, sentence: str) -> None:
    on = board()
    crash = said("PP0 TP1", "Scheduler hit an exception: Traceback (most recent call last):")
    crash += "  File\n" + SAMPLES["gpu-memory"][0] + "\n"

    assert watched(on, [(0, log(milestones("PP0 TP1", upto=upto) + crash))]).verdict(101.0).cause == sentence


NOISY = (
    "/srv/x/parallel_state.py:1637: UserWarning: The given buffer is not writable, and PyTorch",
    "[rank0]:[W1129 15:14:59.618617692 ProcessGroupNCCL.cpp:4094] Warning: An unbatched P2P op (send/recv) was called",
    "nanobind: leaked 4 instances!",
    ' - leaked instance 0x7f9224e81ec8 of type "triton._C.libtriton.ir.attribute"',
    "[2026-11-29 14:37:55 PP1 TP1] Ignore import error when loading sglang.srt.models.grok: No module named 'x'",
    "[2026-11-29 14:37:25] Pyspy failed to dump PID 77. Error: py-spy: not found",
    "[2026-11-29 14:37:25] Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit",
    "[2026-11-29 14:37:25 TP0] Setup Custom allreduce failed with . To silence this warning, specify",
)


@pytest.mark.parametrize("text", NOISY)
def test_lines_that_frighten_are_noise(text: str) -> None:
    event = classify(line_of(text))

    assert event is not None
    assert event.kind is Kind.NOISE


def test_noise_and_failures_have_their_own_names() -> None:
    assert len({name for name, _ in NOISE}) == len(NOISE)
    assert len({row.id for row in FAILURES}) == len(FAILURES)


def test_spellings_name_releases_that_were_read() -> None:
    assert all(row.since in RELEASES and row.until in RELEASES for row in (*SPELLINGS, *FAILURES))


# One line of each spelling that the real logs here do not have.
OLD = (
    ("Init torch distributed ends. mem usage=0.97 GB", Kind.DIST_END),
    (
        "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=1.0 GB, mem usage=2.0 GB.",
        Kind.WEIGHTS_END,
    ),
    ("Load weight end. Committed real weights after CUDA graph capture in 3.2 s (overlap)", Kind.WEIGHTS_END),
    ("Load weight end. a form of the future", Kind.WEIGHTS_END),
    ("SWA KV Cache is allocated. dtype: torch.bfloat16, #tokens: 99, KV size: 1.00 GB", Kind.KV_POOL),
    ("Mamba Cache is allocated. max_mamba_cache_size: 9", Kind.KV_POOL),
    ("Post-capture KV sizing: KV cache allocated. dtype: x, #tokens: 9, KV size: 1 GB", Kind.KV_POOL),
    ("Capture cuda graph begin. This can take up to several minutes. avail mem=1.00 GB", Kind.CAPTURE_BEGIN),
    ("Capture piecewise CUDA graph begin. avail mem=1.00 GB", Kind.CAPTURE_BEGIN),
    ("Capture draft extend cuda graph begin. This can take", Kind.CAPTURE_BEGIN),
    ("Capture cuda graph end. Time elapsed: 8.01 s. mem usage=1.00 GB. avail mem=2.00 GB.", Kind.CAPTURE_END),
    ("Capture target verify CUDA graph end. bs=[1, 2], elapsed=2.30 s, mem usage=0.04 GB", Kind.CAPTURE_END),
    ("Gated launch waiting for activation. rank=0", Kind.GATED),
    ("Dummy health check server scheduled on existing loop at 0.0.0.0:8001", Kind.DUMMY),
    ("Starting dummy health check server at 0.0.0.0:8001", Kind.DUMMY),
    ("Prefill batch. #new-seq: 1, #new-token: 7, #cached-token: 0, token usage: 0.00, #queue-req: 0,", Kind.PREFILL),
    ("Decode batch [7], #running-req: 2, gen throughput (token/s): 5.50, #queue-req: 1", Kind.DECODE),
)


@pytest.mark.parametrize(("message", "kind"), OLD)
def test_a_spelling_of_another_release_is_known(message: str, kind: Kind) -> None:
    event = classify(line_of(f"[2026-11-29 14:37:54 TP0] {message}"))

    assert event is not None
    assert event.kind is kind


def test_steady_lines_have_their_numbers() -> None:
    text = (
        "[2026-11-29 16:40:15 TP0] Decode batch, #running-req: 16, #token: 516, token usage: 0.00, cuda graph: True, "
    )
    event = classify(line_of(text + "gen throughput (token/s): 119.76, #queue-req: 0"))

    assert event is not None
    assert event.numbers == {"running": 16.0, "throughput": 119.76, "queue": 0.0}


@pytest.mark.parametrize(
    ("bar", "numbers"),
    [
        ("Loading safetensors checkpoint shards:  40% Completed | 2/5 [00:03<00:04,  1.5it/s]", (2, 5)),
        ("Multi-thread loading shards: 100% Completed | 5/5 [00:03<00:00]", (5, 5)),
        ("Loading pt checkpoint shards:   0% Completed | 0/9 [00:00<?]", (0, 9)),
    ],
)
def test_the_bar_of_the_shards_is_progress(bar: str, numbers: tuple[int, int]) -> None:
    on = board()

    assert watched(on, [(0, log(bar + "\n"))]).board.shards == numbers


def test_the_page_shows_the_tables_as_they_are() -> None:
    assert PAGE.read_text(encoding="utf-8").endswith(tables())
