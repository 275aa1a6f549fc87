"""How fast a log is read, `grep -c` on the same bytes beside it; and that memory stays flat."""

from __future__ import annotations

import subprocess
import time
import tracemalloc
from pathlib import Path

import pytest

from roles.watch import Watcher
from tests.watch.frames import board, log, text_of

PIECE = 64 * 1024  # characters: the size of a log frame
STEADY_GOAL = 100  # MB/s


def steady_text() -> str:
    """The steady-state lines of a real log, as a busy server repeats them."""
    lines = text_of("gpu-0.5.17-tp2-cuda-graphs-up.log").splitlines(keepends=True)
    return "".join(line for line in lines if " batch, #" in line or '" 200 OK' in line)


def rate(text: str) -> float:
    """MB (of CPU time: the machine may be busy with else) a second of a watcher that is fed `text` in frames."""
    watcher = Watcher(board(2, 1))
    begin = time.process_time()
    for at in range(0, len(text), PIECE):
        watcher.feed(0, log(text[at : at + PIECE]))
    return len(text) / 1e6 / (time.process_time() - begin)


@pytest.mark.slow
def test_steady_lines_are_read_at_a_hundred_megabytes_a_second(tmp_path: Path) -> None:
    text = steady_text()
    text *= 50_000_000 // len(text)
    file = tmp_path / "steady.log"
    file.write_text(text)
    begin = time.perf_counter()
    subprocess.run(["grep", "-c", "Load weight end", str(file)], check=False, stdout=subprocess.DEVNULL)
    grep = len(text) / 1e6 / (time.perf_counter() - begin)
    found = max(rate(text) for _ in range(3))
    print(f"steady {found:.0f} MB/s, grep -c {grep:.0f} MB/s")

    assert found >= STEADY_GOAL


@pytest.mark.slow
def test_whole_logs_with_their_loading_are_read_fast_enough_to_catch_up() -> None:
    for name in ("gpu-0.5.17-tp2-cuda-graphs-up.log", "cpu-0.5.23-tp2pp2-up-then-sigterm.log"):
        text = text_of(name)
        found = rate(text * (5_000_000 // len(text)))
        print(f"{name} {found:.1f} MB/s")

        assert found >= 1


def test_memory_is_flat_however_long_the_log_is() -> None:
    watcher = Watcher(board(2, 2))
    text = text_of("cpu-0.5.23-tp2pp2-rank-killed-up.log")[-12_000:]
    tracemalloc.start()
    sizes = []
    for _ in range(3):
        for _ in range(25):  # the first 64 tracebacks are kept
            watcher.feed(0, log(text))
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()

    assert sizes[-1] < sizes[0] * 1.2 + 100_000
