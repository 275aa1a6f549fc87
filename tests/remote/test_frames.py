"""Bytes from a channel, cut anywhere, with a noisy shell between them."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from roles.remote.frames import FrameReader

FRAMES = [{"f": "hello", "host": "größe"}, {"f": "log", "text": "Lädt 50%\r日本"}, {"f": "end"}]
WIRE = b"".join(json.dumps(frame, ensure_ascii=False).encode() + b"\n" for frame in FRAMES)


@given(st.lists(st.integers(0, len(WIRE)), max_size=12))
def test_frames_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    reader = FrameReader()
    edges = [0, *sorted(cuts), len(WIRE)]

    got = [frame for a, b in pairwise(edges) for frame in reader.feed(WIRE[a:b])]

    assert got == FRAMES
    assert reader.noise == []


def test_what_a_login_shell_prints_is_kept_apart() -> None:
    reader = FrameReader()

    got = reader.feed(b'Welcome to Ubuntu!\n{"f": "hello"}\n{"not": "a frame"}\n{broken\n\n{"f": "end"}\n')

    assert [frame["f"] for frame in got] == ["hello", "end"]
    assert reader.noise == ["Welcome to Ubuntu!", '{"not": "a frame"}', "{broken"]


def test_an_end_or_an_error_frame_marks_the_stream_as_ended() -> None:
    for last in ("end", "error"):
        reader = FrameReader()
        assert not reader.ended
        reader.feed(b'{"f": "%s"}\n' % last.encode())
        assert reader.ended


def test_nothing_comes_after_the_end() -> None:
    reader = FrameReader()

    got = reader.feed(b'{"f": "exit"}\n{"f": "end"}\n{"f": "error", "message": "to somebody else"}\n')

    assert [frame["f"] for frame in [*got, *reader.feed(b'{"f": "log"}\n')]] == ["exit", "end"]
