"""The processes of a measurement, one for each rank: started together, ended together, with all that they left."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import select
import signal
import subprocess

from . import proc
from .flags import HERE
from .launch import environment as login_environment
from .measuring import RUN
from .problems import HostError
from .programs import which

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Dict, List

    from .state import Json

SHARED = "/dev/shm/nccl-*"  # NCCL unlinks its own, unless it is killed before


class Team:
    """`asked`: what each process is told (measuring.py)."""

    def __init__(self, python: str, planned: Dict[str, str], asked: Json) -> None:
        self._before, self._rest = set(glob.glob(SHARED)), b""
        self._processes: List["subprocess.Popen[bytes]"] = []
        self._said: List[IO[bytes]] = []
        self._program = _program(python)
        folder = os.path.dirname(self._program)
        variables = {**login_environment(), **planned}
        variables["PATH"] = folder + os.pathsep + variables.get("PATH", os.defpath)
        try:
            for rank in range(asked["world"]):
                self._start(rank, variables, asked)
        except BaseException:
            self.end()
            raise
        assert self._processes[0].stdout
        self.out = self._processes[0].stdout.fileno()

    def _start(self, rank: int, variables: Dict[str, str], asked: Json) -> None:
        said = open(os.path.join(asked["folder"], f"stderr-{rank}"), "w+b")
        self._said.append(said)
        process = subprocess.Popen(
            [self._program, "-c", RUN, str(rank), HERE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if rank == 0 else said,
            stderr=said,
            env=variables,
            cwd=asked["folder"],
            start_new_session=True,  # so that what it starts can be ended with it
        )
        self._processes.append(process)
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has ended already: check() says why
            process.stdin.write((json.dumps(asked) + "\n").encode())
            process.stdin.flush()

    def read(self) -> List[Json]:
        """What rank 0 has said since."""
        if not select.select([self.out], [], [], 0)[0]:
            return []
        *lines, self._rest = (self._rest + os.read(self.out, 65536)).split(b"\n")
        rows: List[Json] = [json.loads(line) for line in lines if line.startswith(b"{")]
        return rows

    def check(self) -> None:
        """Raises: HostError with the last words of a process that has failed."""
        for rank, process in enumerate(self._processes):
            if process.poll():
                words = self._words(rank)
                if "No module named 'torch" in words:
                    raise HostError("missing", f"{self._program} has no torch", "name a `venv` that has it")
                how = f"signal {-process.returncode}" if process.returncode < 0 else f"status {process.returncode}"
                what = f"process {rank} of the measurement ended with {how}, saying: {words}"
                raise HostError("internal", what, "see the profile's environment (NCCL_DEBUG: INFO says more)")

    def _words(self, rank: int) -> str:
        file = self._said[rank]
        file.seek(max(0, file.seek(0, 2) - 8192))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
        return (lines or ["nothing"])[-1][:300]

    def end(self) -> None:
        """End whatever still runs of it."""
        for process in self._processes:
            if process.poll() is None:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()
        for file in self._said:
            file.close()
        self._sweep()

    def _sweep(self) -> None:
        """Remove the shared memory that a killed NCCL left: made since, by this user, mapped by nobody."""
        left = [path for path in glob.glob(SHARED) if path not in self._before and _is_mine(path)]
        if not left:
            return
        maps = b"".join(proc.read(f"/proc/{pid}/maps") or b"" for pid in proc.pids())
        for path in left:
            if path.encode() not in maps:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _is_mine(path: str) -> bool:
    try:
        return os.stat(path).st_uid == os.getuid()
    except OSError:
        return False


def _program(python: str) -> str:
    path: Any = os.path.expanduser(python) if "/" in python else which(python)
    if not path or not os.access(path, os.X_OK):
        raise HostError("missing", f"there is no Python at {path or python}", "correct `venv` in the inventory")
    return str(path)
