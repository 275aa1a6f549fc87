"""Text -> lines: heads of all releases, tracebacks, torn and glued lines, bars, other launchers, any cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roles.inventory.rank import Rank
from roles.watch import Line, LineReader, classify
from roles.watch.lines import LINE_LIMIT
from tests.watch.frames import LOGS, text_of

HEAD = "[2026-11-29 14:37:54 PP0 TP1] "


def read(text: str) -> list[Line]:
    reader = LineReader()
    return reader.feed(text) + reader.flush()


def one(text: str) -> Line:
    lines = read(text)
    assert len(lines) == 1, lines
    return lines[0]


# The order in which the releases print the axes of one rank; the numbers are what they mean in each.
@pytest.mark.parametrize(
    ("releases", "axes", "rank"),
    [
        ("0.4.9", "DP1 TP3 PP2", Rank(2, 3, 1)),
        ("0.5.2 0.5.5", "DP1 TP3 EP3 PP2", Rank(2, 3, 1)),
        ("0.5.7 0.5.8", "DP1 PP2 TP3 EP3", Rank(2, 3, 1)),
        ("0.5.9 to 0.5.23", "DP1 PP2 ATTN_CP0 MOE_DP1 TP3 EP3", Rank(2, 3, 1)),
        ("every one, tp=1", "PP1", Rank(1, 0, 0)),
        ("every one, pp=1", "TP7", Rank(0, 7, 0)),
        ("every one, two digits", "PP10 TP12", Rank(10, 12, 0)),
    ],
)
def test_the_axes_of_a_line_are_a_set(releases: str, axes: str, rank: Rank) -> None:
    assert one(f"[2026-11-29 14:37:54 {axes}] Load weight begin. avail mem=1.00 GB").rank == rank


def test_a_head_has_its_time_with_or_without_milliseconds() -> None:
    assert one("[2026-11-29 14:37:54] hello")[:3] == ("hello", "2026-11-29 14:37:54", None)
    assert one("[2026-11-29 14:37:54.007 TP1] hello").stamp == "2026-11-29 14:37:54.007"


def test_a_line_without_axes_belongs_to_no_rank() -> None:
    assert one("[2026-11-29 14:37:54] The server is fired up and ready to roll!").rank is None
    assert one("plain words").rank is None


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("[2026-11-29 14:37:54] INFO:     Uvicorn running on http://0.0.0.0:8000", "uvicorn"),
        (HEAD + "Load weight begin. avail mem=1.00 GB", "sglang"),
        ("[rank3]:[W1129 15:14:59.618617692 ProcessGroupNCCL.cpp:4094] Warning: x", "torch"),
        ("[W1129 16:34:07.713345438 socket.cpp:207] [c10d] The hostname", "torch"),
        ("gpu1:4242:4250 [3] NCCL INFO Bootstrap : Using eth0", "nccl"),
        ("[Gloo] Rank 0 is connected to 7 peer ranks.", "gloo"),
        ("Loading safetensors checkpoint shards:  40% Completed | 2/5 [00:03<00:04]", "bar"),
        ("plain words", "raw"),
    ],
)
def test_each_source_is_known(text: str, source: str) -> None:
    assert one(text).source == source


def test_torch_names_the_rank_of_the_world_not_of_the_tensor_group() -> None:
    line = one("[rank3]: Traceback of something")

    assert line.axes == (("WORLD", 3),)
    assert line.rank is None


CRASH = (
    HEAD + "Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "x.py", line 1, in f\n    g()\nKeyError: 1\n\n'
    "During handling of the above exception, another exception occurred:\n\n"
    'Traceback (most recent call last):\n  File "x.py", line 2, in f\nValueError: 2\nmore of its message\n'
)


def test_a_traceback_belongs_to_the_rank_whose_line_began_it() -> None:
    lines = read(CRASH + HEAD.replace("TP1", "TP0") + "another line\n")

    assert {line.rank for line in lines[:-1]} == {Rank(0, 1)}
    assert {line.block for line in lines[:-1]} == {1}
    assert lines[-1].block == 0


def test_a_traceback_that_nobody_began_belongs_to_nobody() -> None:
    assert {line.rank for line in read("Traceback (most recent call last):\n  File\nOSError: x\n")} == {None}


def test_a_line_of_another_rank_within_a_traceback_does_not_end_it() -> None:
    first, rest = CRASH.split("    g()\n")
    lines = read(first + "[2026-11-29 14:37:54 PP1 TP0] I am another\n    g()\n" + rest)

    assert [line.rank for line in lines][:5] == [Rank(0, 1), Rank(0, 1), Rank(1, 0), Rank(0, 1), Rank(0, 1)]


def test_body_lines_of_two_open_tracebacks_belong_to_nobody() -> None:
    begins = [
        f"[2026-11-29 14:37:54 TP{n}] Scheduler hit an exception: Traceback (most recent call last):\n" for n in (0, 1)
    ]
    lines = read("".join(begins) + "  File\nValueError: whose\n")

    assert [line.rank for line in lines] == [Rank(0, 0), Rank(0, 1), None, None]


def test_a_head_glued_to_an_unfinished_line_begins_a_line_of_its_own() -> None:
    lines = read("See https://nanobind.readthedocs.io/x.html[2026-11-29 14:39:50] kill_process_tree called\n")

    assert [line.text for line in lines] == ["See https://nanobind.readthedocs.io/x.html", "kill_process_tree called"]


def test_colours_are_taken_off() -> None:
    assert one("\x1b[1;33m[2026-11-29 14:37:54] '--x' is deprecated\x1b[0m").text == "'--x' is deprecated"


def test_a_bar_that_redraws_itself_is_as_many_lines() -> None:
    assert len(read("\r  0%|  | 0/9 [00:00<?]\r 11%|  | 1/9 [00:00<?]\n")) == 2


def test_windows_line_ends_are_line_ends() -> None:
    assert [line.text for line in read("one\r\ntwo\r\n")] == ["one", "two"]


def test_a_line_of_megabytes_is_read_on_and_its_beginning_kept() -> None:
    reader = LineReader()
    for _ in range(64):
        reader.feed("x" * 65536)
    lines = reader.feed("\nnext\n")

    assert [len(line.text) for line in lines] == [LINE_LIMIT, 4]


def test_a_half_line_waits_for_its_end() -> None:
    reader = LineReader()

    assert reader.feed(HEAD + "Load wei") == []
    assert [line.text for line in reader.feed("ght begin.\n")] == ["Load weight begin."]
    assert reader.feed("rest") == []
    assert [line.text for line in reader.flush()] == ["rest"]


@pytest.mark.parametrize(
    "prefix",
    [
        "sglang-1  | ",
        "2026-11-29T14:37:54.123456789Z ",
        "2026-11-29T14:37:54.123456789Z stderr F ",
        "Nov 29 14:37:54 gpu1 sglang[4242]: ",
        "3: ",
    ],
)
def test_the_prefix_of_another_launcher_is_taken_off_every_line(prefix: str) -> None:
    lines = read("".join(prefix + line + "\n" for line in CRASH.splitlines() if line))

    assert lines[0].rank == Rank(0, 1)
    assert {line.block for line in lines} == {1}
    assert lines[1].text == '  File "x.py", line 1, in f'


def test_lines_are_numbered_as_in_their_file() -> None:
    assert [line.number for line in read("a\n\nb\rc\nd\n")] == [1, 3, 3, 4]


def test_steady_lines_are_folded_and_counted_and_nothing_else_is() -> None:
    reader = LineReader(fold_steady=True)
    text = "[2026-11-29 16:40:15 TP0] Decode batch, #running-req: 16\n[2026-11-29 16:40:15] INFO:     Shutting down\n"
    text += '[2026-11-29 16:40:15] INFO:     127.0.0.1:36 - "POST /generate HTTP/1.1" 200 OK\n'

    assert [line.text for line in reader.feed(text)] == ["INFO:     Shutting down"]
    assert reader.steady == 2


TEXTS = [text_of(path.name)[:20_000] for path in sorted(LOGS.glob("*.log"))]


@settings(max_examples=40, deadline=None)
@given(text=st.sampled_from(TEXTS), cuts=st.lists(st.integers(0, 20_000), max_size=30), fold=st.booleans())
def test_any_cut_of_a_log_gives_the_same_lines(text: str, cuts: list[int], fold: bool) -> None:
    whole, pieces = LineReader(fold_steady=fold), LineReader(fold_steady=fold)
    expected = whole.feed(text) + whole.flush()
    ends = sorted({cut % (len(text) + 1) for cut in cuts})
    found = [line for a, b in zip([0, *ends], [*ends, len(text)], strict=True) for line in pieces.feed(text[a:b])]

    assert found + pieces.flush() == expected
    assert pieces.steady == whole.steady


PIECES = (
    "[2026-11-29 14:37:54",
    " TP0",
    "] ",
    "\r",
    "\n",
    "\x1b[1m",
    "Traceback (most recent call last):",
    "40%| 2/5",
    "0: ",
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=40))
def test_no_text_makes_it_raise(pieces: list[str]) -> None:
    reader = LineReader()
    for line in [line for piece in pieces for line in reader.feed(piece)] + reader.flush():
        classify(line)


def test_what_it_keeps_does_not_grow() -> None:
    reader = LineReader(fold_steady=True)
    for number in range(2000):
        reader.feed(f"\r{number}%| a bar without an end" * 40)

    assert len(reader._tail) <= LINE_LIMIT
