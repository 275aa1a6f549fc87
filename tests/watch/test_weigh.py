"""Messages that accuse the wrong one, or give a reason that is not theirs: the verdict says who and what is meant."""

from __future__ import annotations

import pytest

from roles.watch import Board, Verdict
from tests.watch.frames import board, exited, log, milestones, procs, said, watched

HIT = "Scheduler hit an exception: Traceback (most recent call last):"


def crash(axes: str, exception: str) -> str:
    return said(axes, HIT) + "  File\n" + exception + "\n"


def verdict(on: Board, *texts: str) -> Verdict:
    frames = [(0, procs(on)), *((0, log(text)) for text in texts), (0, exited(101.0, 137))]
    return watched(on, frames).verdict(102.0)


UNKNOWN_MODEL = "ValueError: Model architectures ['Qwen4ExpForCausalLM'] are not supported for now. Supported: x"
FAR_ABOVE = said("", "Ignore import error when loading sglang.srt.models.qwen4_exp: ninja: build stopped: no nvcc")
ANOTHER = said("", "Ignore import error when loading sglang.srt.models.grok: No module named 'x'")


def test_a_model_called_unknown_because_its_module_failed_to_compile_is_told_by_the_warning_far_above() -> None:
    filling = said("", "something else") * 500
    found = verdict(board(tp=1, pp=1), ANOTHER + FAR_ABOVE + filling, crash("", UNKNOWN_MODEL))

    assert found.id == "model-import"
    assert (
        found.cause
        == "SGLang could not import its own module for this model (qwen4_exp): ninja: build stopped: no nvcc"
    )
    assert found.evidence[0].startswith("Ignore import error when loading qwen4_exp")
    assert "compiler" in found.do


def test_a_model_that_is_really_unknown_stays_so() -> None:
    assert verdict(board(tp=1, pp=1), ANOTHER, crash("", UNKNOWN_MODEL)).id == "architecture"


def test_of_ranks_that_load_unequally_the_one_without_weights_is_named_and_not_the_one_that_speaks() -> None:
    slow = "ValueError: TP rank 0 could finish the model loading, but there are other ranks that didn't finish loading."
    found = verdict(
        board(tp=2, pp=1),
        milestones("TP0", upto="Load weight end") + milestones("TP1", upto="Load weight begin") + crash("TP0", slow),
    )

    assert (found.id, found.rank) == ("other-ranks-slow", "TP1")
    assert found.sentence == "TP1 on lab1: had not loaded its weights when the wait of the others was over"


def test_of_watchdogs_the_rank_without_one_is_named() -> None:
    bark = "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)"
    texts = [milestones(f"PP{pp} TP{tp}") for pp in (0, 1) for tp in (0, 1)]
    found = verdict(board(), *texts, *(said(axes, bark) for axes in ("PP0 TP0", "PP0 TP1", "PP1 TP0")))

    assert (found.id, found.rank) == ("watchdog", "PP1 TP1")
    assert "says nothing, while others waited for it: one step took longer than the watchdog's 300 s" in found.sentence


@pytest.mark.parametrize(
    ("upto", "words"),
    [
        ("Init parallel end", "one GPU has much less free memory than another"),
        ("Load weight end", "this server's own weights (a draft model's check"),
    ],
)
def test_unequal_memory_is_somebody_elses_before_the_load_and_a_draft_models_after_it(upto: str, words: str) -> None:
    unbalanced = "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes."

    assert words in verdict(board(tp=2, pp=1), milestones("TP1", upto=upto) + crash("TP1", unbalanced)).cause


@pytest.mark.parametrize(
    ("exception", "direction"),
    [
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.8", "RAISE"),
        ("Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1 GiB", "LOWER"),
    ],
)
def test_mem_fraction_static_has_to_go_the_right_way(exception: str, direction: str) -> None:
    found = verdict(board(tp=2, pp=1), milestones("TP1", upto="Load weight end") + crash("TP1", exception))

    assert found.do.startswith(f"{direction} mem_fraction_static")


@pytest.mark.parametrize(
    ("last", "id_", "words"),
    [
        ("AssertionError: res=<Response [403]>, res.text='<html>'", "warmup-proxy", "a proxy variable caught"),
        ("requests.exceptions.ProxyError: HTTPConnectionPool(host='127.0.0.1', port=9): x", "warmup-proxy", "a proxy"),
        ("requests.exceptions.ReadTimeout: x Read timed out. (read timeout=600)", "warmup-slow", "took longer"),
        ("AssertionError: {'error': 'x'}", "warmup", "SGLang's own first request failed: AssertionError: {'error'"),
    ],
)
def test_a_warmup_that_ends_in_a_traceback_is_told_by_its_exception(last: str, id_: str, words: str) -> None:
    begin = said("", "Initialization failed. warmup error: Traceback (most recent call last):")
    kill = said("", "kill_process_tree called: parent_pid=10, include_parent=True, pid=10")
    found = verdict(board(tp=1, pp=1), milestones(""), begin + "  File\n" + last + "\n\n" + kill)

    assert (found.kind, found.id) == ("failed", id_)
    assert words in found.sentence
