"""log: the end of a log, found from its end."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roles.onhost.logs import BLOCK, line_start, time_start
from roles.onhost.tail import characters
from tests.onhost.driver import OnHost

NOON = time.mktime(time.strptime("2026-11-29 12:00:00", "%Y-%m-%d %H:%M:%S"))


def head(second: int) -> str:
    """SGLang's line head, `second` seconds after noon."""
    return time.strftime("[%Y-%m-%d %H:%M:%S TP0]", time.localtime(NOON + second))


@pytest.fixture
def lines() -> list[bytes]:
    """A log of 1,500 lines: heads that never go back, tracebacks without one, one line longer than a block."""
    chance = random.Random(7)
    second, made = 0, []
    for number in range(1500):
        second += chance.choice((0, 0, 1))
        made.append(
            f"{head(second)} line {number} {'x' * chance.randrange(300)}" if chance.random() < 0.7 else "  at x"
        )
        if number == 700:
            made.append("y" * (3 * BLOCK))
    return [f"{line}\n".encode() for line in made]


@pytest.fixture
def file(lines: list[bytes], tmp_path: Path) -> Iterator[int]:
    """Those lines, open."""
    (tmp_path / "log").write_bytes(b"".join(lines))
    fd = os.open(tmp_path / "log", os.O_RDONLY)
    yield fd
    os.close(fd)


def test_the_last_lines_begin_where_they_begin(lines: list[bytes], file: int) -> None:
    size = sum(map(len, lines))
    for count in (0, 1, 2, 10, 799, 800, 801, 1500, 1501, 1502, 9999):
        assert line_start(file, size, count) == size - sum(map(len, lines[max(0, len(lines) - count) :])), count


def test_an_unfinished_last_line_counts_as_one(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\ntwo\nthr")
    fd = os.open(tmp_path / "log", os.O_RDONLY)
    assert [line_start(fd, 11, count) for count in (0, 1, 2, 3, 4)] == [11, 8, 4, 0, 0]
    os.close(fd)


def test_lines_since_a_time_begin_at_its_first_head(lines: list[bytes], file: int) -> None:
    size = sum(map(len, lines))
    for second in (-5, 0, 1, 100, 200, 300, 9999):
        expected = size
        for at, line in enumerate(lines):
            if (
                line.startswith(b"[")
                and line[:25].decode() >= head(second)[:25]
                and line[1:20] >= head(second)[1:20].encode()
            ):
                expected = sum(map(len, lines[:at]))
                break
        assert time_start(file, size, NOON + second) == expected, second


def test_the_verb_gives_lines_or_time_or_all(host: OnHost) -> None:
    log = Path(host.start("true")["log"])
    log.write_text(f"banner\n{head(0)} one\n{head(5)} two\n  more of two\n{head(9)} three\n")

    def said(**fields: object) -> str:
        return "".join(frame["text"] for frame in host.frames("log", run="r1", **fields) if frame["f"] == "log")

    assert said() == log.read_text()
    assert said(lines=2) == f"  more of two\n{head(9)} three\n"
    assert said(since=NOON + 1) == f"{head(5)} two\n  more of two\n{head(9)} three\n"
    assert said(since=NOON + 1, lines=1) == f"{head(9)} three\n"
    assert said(since=NOON + 60) == said(lines=0) == ""
    log.unlink()
    assert said() == ""


def test_the_end_of_a_great_log_is_found_without_reading_it(host: OnHost) -> None:
    log = Path(host.start("true")["log"])
    with log.open("w") as out:
        out.truncate(8 << 30)  # sparse
        out.seek(8 << 30)
        out.write("\nlast\n")
    frames = host.frames("log", run="r1", lines=1)
    assert [frame["text"] for frame in frames if frame["f"] == "log"] == ["last\n"]
    assert frames[-1]["t"] - frames[0]["t"] < 2


@pytest.mark.parametrize("character", ["a", "é", "世", "😀"])
def test_a_character_cut_at_the_end_is_left_for_later(character: str) -> None:
    encoded = character.encode()
    for kept in range(1, len(encoded)):
        assert characters(b"ab" + encoded[:kept]) == 2
    assert characters(b"ab" + encoded) == 2 + len(encoded)
    assert characters(b"\x80\x80\x80\x80\x80") == 5 and characters(b"ab\xff") == 3 and characters(b"") == 0
