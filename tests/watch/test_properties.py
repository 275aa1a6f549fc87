"""Whatever is said, in whatever order and cut, the board is the same, nothing raises, and nothing grows."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roles.watch import Watcher
from roles.watch.evidence import KEPT
from roles.watch.explain import explain
from roles.watch.weigh import KEPT as IMPORTS
from tests.watch.frames import CASES, board, exited, health, log, port, procs, said, text_of
from tests.watch.test_real_logs import case_of

LABELS = ("PP0 TP0", "PP0 TP1", "PP1 TP0", "PP1 TP1")
NAMES = sorted({name for path in CASES.glob("*.json") for name in case_of(path.stem)["logs"].values()})
SPOILED = (
    "",
    "\x00",
    "\ufffd",
    "\r",
    "\x1b[31m",
    "Traceback (most recent call last):",
    "[2026-99-99 99:99:99 TP99] x",
    "] ",
)


def any_frame(draw: st.DrawFn) -> dict[str, Any]:
    """A frame of any kind, its fields as a confused host might send them."""
    at = draw(st.floats(0, 1e9))
    labels = draw(st.lists(st.sampled_from(LABELS), unique=True))
    state = draw(st.sampled_from(["dead", "zombie", "stopped"]))
    row = {
        "pid": draw(st.integers(0, 99999)),
        "title": draw(st.text(max_size=30)),
        "state": draw(st.sampled_from("RSDTZXt?")),
    }
    states: dict[str, Any] = {state: labels}
    kinds = (
        procs(board(), at, main=draw(st.sampled_from([None, 10])), extra=[row], **states),
        port(at, ours=draw(st.sampled_from([None, True, False]))),
        health(at, draw(st.sampled_from([None, 200, 503]))),
        exited(
            at,
            draw(st.sampled_from([None, 0, 3, 137, -9, 999])),
            signal=draw(st.sampled_from([None, "SIGX", "SIGKILL"])),
        ),
        {
            "f": draw(st.sampled_from(["disk", "log_reset", "gpus", "beat", "hello", "settings", "generation", "new"])),
            "t": at,
        },
        log(draw(st.sampled_from(NAMES).map(lambda name: text_of(name)[:30_000][-2_000:])), at),
        log(draw(st.text(max_size=300)), at),
    )
    return draw(st.sampled_from(kinds))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_no_frames_in_no_order_make_it_raise_or_say_nothing(data: st.DataObject) -> None:
    watcher = Watcher(board(gpus=True))
    for _ in range(data.draw(st.integers(1, 12))):
        frame = any_frame(data.draw)  # type: ignore[arg-type]
        watcher.feed(data.draw(st.integers(0, 2)), frame)
        verdict = watcher.verdict(watcher.board.latest + 1)
        assert verdict.sentence and "\n" not in verdict.sentence


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    spoils=st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 200), st.sampled_from(SPOILED)), max_size=8),
)
def test_a_log_that_is_spoiled_anywhere_is_explained_all_the_same(
    name: str, spoils: list[tuple[int, int, str]]
) -> None:
    text = text_of(name)
    for place, length, instead in spoils:
        text = text[:place] + instead + text[place + length :]

    told = explain({"x": text})

    assert told.verdict.sentence
    assert told.as_json()["verdict"] in ("up", "loading", "failed", "lost", "stopped", "unknown")


def test_what_the_board_keeps_does_not_grow() -> None:
    watcher = Watcher(board())
    hit = "Scheduler hit an exception: Traceback (most recent call last):"
    for number in range(600):
        axes = LABELS[number % 4]
        text = said(axes, hit) + f"  File x\nFooError: {number}\n" + said(f"TP{number}", "Load weight begin. x")
        text += said("", f"Ignore import error when loading sglang.srt.models.m{number}: x") + "x" * 5000 + "\n"
        watcher.feed(0, log(text, float(number)))

    on = watcher.board
    assert len(on.evidence) <= KEPT and len(on.blocks) <= KEPT and len(on.imports) <= IMPORTS
    assert len(on.nodes[0].strangers) <= KEPT and sum(map(len, on.nodes[0].last)) < 5000


def test_invalid_utf_8_as_the_host_sends_it_and_lines_of_megabytes_hide_no_milestone() -> None:
    watcher = Watcher(board(tp=2, pp=1))
    bad = b"bad \xff\xfe\n".decode("utf-8", "backslashreplace")
    for piece in (bad, "y" * 3_000_000, "\n", said("TP1", "Load weight begin. avail mem=1.00 GB"), bad):
        watcher.feed(0, log(piece))

    assert [state.milestone for state in watcher.board.ranks.values()] == ["", "weights loading"]


def test_a_bar_glued_to_a_line_hides_neither() -> None:
    watcher = Watcher(board(tp=2, pp=1))
    bar = "Loading safetensors checkpoint shards:  40% Completed | 2/5 [00:03<00:04,  1.5it/s]"
    watcher.feed(0, log(bar + said("TP1", "Load weight end. elapsed=0.02 s, type=LlamaForCausalLM, avail mem=2 GB")))

    assert watcher.board.shards == (2, 5)
    assert [state.milestone for state in watcher.board.ranks.values()] == ["", "weights loaded"]


def test_a_log_that_is_replaced_begins_anew_in_the_middle_of_a_line() -> None:
    watcher = Watcher(board(tp=2, pp=1))
    watcher.feed(0, log(said("TP1", "Load weight begin. avail mem=1.00 GB")[:-1]))
    watcher.feed(0, {"f": "log_reset", "t": 101.0, "why": "another file has taken the log's place"})
    watcher.feed(0, log(said("TP0", "Load weight begin. avail mem=1.00 GB"), 102.0))

    assert [state.milestone for state in watcher.board.ranks.values()] == ["weights loading", "weights loading"]
