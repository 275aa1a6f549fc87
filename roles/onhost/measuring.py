"""Copies between GPUs and collectives over them, timed with torch. Run by SGLang's Python, a process for each GPU.

argv: the rank. One JSON request on stdin: {"device": "cuda" or "cpu", "world", "folder": where the processes meet,
"groups": [{"name", "what": "all_reduce" or "p2p", "ranks"}]}. Rank 0 answers with one JSON object a line. All of them
end when their stdin does: whoever started them is gone then, and the folder goes with them.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import statistics
import sys
import threading
import time
from typing import Any, Dict, List, Optional

from .stopwatch import Stopwatch, clocked

SIZES = (16 << 10, 1 << 20, 64 << 20)  # bytes: one token's activations, a small batch's, a prefill's
COPY = 256 << 20  # bytes of a copy between two GPUs
LOOK_EVERY = 0.001  # seconds between two looks for the others
RUN = "import sys; sys.path.insert(0, sys.argv.pop()); from onhost.measuring import main; del sys.path[0]; main()"


def repeats(size: int) -> int:
    """How often it is done."""
    return 50 if size <= 1 << 20 else 10


class Bench:
    """One of `world` processes. All take the same steps in the same order and meet after each."""

    def __init__(self, rank: int, asked: Dict[str, Any]) -> None:
        self.rank, self.world, self.asked = rank, int(asked["world"]), asked
        self.torch: Any = importlib.import_module("torch")
        self.dist: Any = importlib.import_module("torch.distributed")
        self.cuda = asked["device"] == "cuda"
        if self.cuda:
            self.torch.cuda.set_device(rank)
        self.store = self.dist.FileStore(os.path.join(asked["folder"], "meeting"), self.world)
        backend = "nccl" if self.cuda else "gloo"
        self.dist.init_process_group(backend, store=self.store, rank=rank, world_size=self.world)
        self._steps = 0
        self.watch = Stopwatch(self.torch, cuda=self.cuda)

    def meet(self, said: Any = None) -> List[Any]:
        """Wait for everybody, without touching a GPU; gives what each had to say."""
        self._steps += 1
        step = f"step{self._steps}"
        self.store.set(f"{step}/{self.rank}", json.dumps(said))
        self.store.add(step, 1)
        while self.store.add(step, 0) < self.world:
            time.sleep(LOOK_EVERY)
        return [json.loads(self.store.get(f"{step}/{rank}")) for rank in range(self.world)]

    def tensor(self, size: int, gpu: Optional[int] = None) -> Any:
        """Zeros of so many bytes: added up they stay what they are."""
        where = f"cuda:{self.rank if gpu is None else gpu}" if self.cuda else "cpu"
        return self.torch.zeros(size // 4, dtype=self.torch.float32, device=where)

    def group(self, group: Dict[str, Any], handle: Any) -> List[Dict[str, Any]]:
        """A collective of one group at each size; the slowest member's time counts."""
        rows = []
        for size in SIZES:
            mine = None
            if self.rank in group["ranks"]:
                what = self._all_reduce if group["what"] == "all_reduce" else self._back_and_forth
                mine = what(group["ranks"], handle, self.tensor(size), repeats(size))
            times = [seconds for seconds in self.meet(mine) if seconds is not None]
            rows.append({"bytes": size, "seconds": max(times)})
        return rows

    def _handle(self, group: Dict[str, Any]) -> Any:
        return self.dist.new_group(group["ranks"]) if group["what"] == "all_reduce" else None

    def _all_reduce(self, ranks: List[int], handle: Any, tensor: Any, times: int) -> float:
        return self.watch.seconds(lambda: self.dist.all_reduce(tensor, group=handle), times)

    def _back_and_forth(self, ranks: List[int], handle: Any, tensor: Any, times: int) -> float:
        """There and back again; half of it is one way."""
        first = self.rank == ranks[0]
        other = ranks[1] if first else ranks[0]
        calls = (self.dist.send, self.dist.recv) if first else (self.dist.recv, self.dist.send)

        def work() -> None:
            for call in calls:
                call(tensor, other)

        return self.watch.seconds(work, times) / 2

    def copies(self) -> List[Dict[str, Any]]:
        """From each GPU to each other one, one copy at a time, by the first process alone."""
        rows = []
        pairs = [(one, other) for one in range(self.world) for other in range(self.world) if one != other]
        for one, other in pairs if self.rank == 0 else ():
            source, target = self.tensor(COPY, one), self.tensor(COPY, other)

            def copied(source: Any = source, target: Any = target) -> None:
                for _ in range(5):
                    target.copy_(source, non_blocking=True)
                for place in (source, target):
                    self.torch.cuda.synchronize(place.device)

            copied()
            seconds = statistics.median(clocked(copied) for _ in range(5)) / 5
            peer = bool(self.torch.cuda.can_device_access_peer(one, other))
            rows.append({"from": one, "to": other, "bytes": COPY, "seconds": seconds, "peer": peer})
        self.meet()
        return rows

    def about(self) -> Dict[str, Any]:
        """With what it is measured."""
        nccl = ".".join(map(str, self.torch.cuda.nccl.version())) if self.cuda else None
        names = [self.torch.cuda.get_device_name(gpu) for gpu in range(self.world)] if self.cuda else []
        return {"torch": self.torch.__version__, "nccl": nccl, "names": names}

    def run(self) -> None:
        """Everything; rank 0 tells of each step when it is done."""
        say = _say if self.rank == 0 else (lambda **_: None)
        say(step="meeting", about=self.about() if self.rank == 0 else None)
        if self.cuda:
            say(step="copies", copies=self.copies())
        # Every process must make every group, also those that it is no part of.
        made = [(group, self._handle(group)) for group in self.asked["groups"]]
        for group, handle in made:
            say(step=group["name"], group=dict(group, rows=self.group(group, handle)))
        self.meet()
        say(step="end")


def _say(**row: Any) -> None:
    os.write(1, (json.dumps(row) + "\n").encode())


def _end_with_stdin(folder: str) -> None:
    sys.stdin.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def main() -> None:
    """Take part in one measurement."""
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_stdin, args=(asked["folder"],), daemon=True).start()
    Bench(int(sys.argv[1]), asked).run()
    sys.stdout.flush()
    os._exit(0)
