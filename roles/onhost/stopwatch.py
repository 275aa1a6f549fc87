"""How long something takes on a GPU, without Python's own time; on a CPU by the clock. Run by SGLang's Python."""

from __future__ import annotations

import statistics
import time
from typing import Any, Callable

WARM_UP = 3
ROUNDS = 5
SLEEP = 20_000_000  # GPU cycles, about 10 ms


class Stopwatch:
    """`cuda`: what is timed runs on this process's GPU."""

    def __init__(self, torch: Any, *, cuda: bool) -> None:
        self._torch, self._cuda = torch, cuda

    def seconds(self, work: Callable[[], object], times: int) -> float:
        """One repetition: on a GPU by its own events, a median of rounds; else by the clock, the median of all."""
        for _ in range(WARM_UP):
            work()
        if not self._cuda:
            return statistics.median(clocked(work) for _ in range(times))
        return statistics.median(self._round(work, times) for _ in range(ROUNDS)) / times

    def _round(self, work: Callable[[], object], times: int) -> float:
        """So many back to back. The GPU sleeps first until all are queued: Python is slower than a small message."""
        cuda = self._torch.cuda
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        cuda.synchronize()
        cuda._sleep(SLEEP)
        work()  # here the ranks wait for each other
        begin.record()
        for _ in range(times):
            work()
        end.record()
        cuda.synchronize()
        return float(begin.elapsed_time(end)) / 1000


def clocked(work: Callable[[], object]) -> float:
    """Seconds by the clock."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
