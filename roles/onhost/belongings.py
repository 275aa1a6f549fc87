"""Shared memory and sockets that a run's processes have made, so that they do not outlive them.

SGLang ends its schedulers by SIGKILL where they do not meet in time, which over several nodes is the usual end: then
their segments in /dev/shm stay, and the sockets in /tmp. What is removed was seen in the hands of the run's own
processes, is the same file still, is ours, and nobody else has it. A segment must also have a name that programs give
their segments, and be no older than the run: weights and caches that an operator keeps in /dev/shm are mapped, too.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Set

    from .state import Json

SHM = "/dev/shm/"
DELETED = " (deleted)"
# What SGLang, Python, PyTorch, NCCL and CUDA call what they make there. All else is left: better one segment too many.
MADE = r"""(?ax) sgl_shm_\w+_\d+_[0-9a-f]+ | sglang_loads_[\w.-]+\.shm | sglang_host_pool_[0-9a-f]+\.mmap
    | multi_tokenizer_args_\d+ | deepspeed_allreduce_buffer_[\w.:-]+ | psm_[0-9a-f]{8} | sem\.(mp|loky)-[\w-]+
    | torch_\d+_\d+_\d+ | nccl-\w{6} | cuda\.shm\.[0-9a-f.]+"""


def held(pids: Iterable[int], since: float) -> List[Json]:
    """Segments that these processes map, and sockets with a path that they hold: {path, dev, ino}.

    Args: since: when their run was started (epoch seconds).
    """
    mine = list(pids)
    bound = _bound()
    paths = {path for pid in mine for path in (*_mapped(pid), *_sockets(pid, bound))}
    return [row for path in sorted(paths) for row in _row(path, since)]


def remove(rows: Iterable[Json], since: float) -> List[str]:
    """Remove those that are still what they were, and that no living process has; gives their paths."""
    still = [row for row in rows if row in _row(str(row.get("path")), since)]
    if not still:
        return []
    bound = _bound()
    others: Set[str] = set()
    for pid in proc.pids():
        others.update(_mapped(pid))
        others.update(_sockets(pid, bound))
    gone = []
    for row in still:
        if row["path"] not in others:
            with contextlib.suppress(OSError):
                os.unlink(row["path"])
                gone.append(str(row["path"]))
    return gone


def _row(path: str, since: float) -> List[Json]:
    """The file as it is now, if it is one of ours to remove."""
    try:
        seen = os.lstat(path)
    except (OSError, ValueError):
        return []
    if path.startswith(SHM):
        mine = stat.S_ISREG(seen.st_mode) and seen.st_ctime >= since and bool(re.fullmatch(MADE, path[len(SHM) :]))
    else:
        mine = stat.S_ISSOCK(seen.st_mode)
    return [{"path": path, "dev": seen.st_dev, "ino": seen.st_ino}] if mine and seen.st_uid == os.getuid() else []


def _mapped(pid: int) -> Iterable[str]:
    raw = proc.read(f"/proc/{pid}/maps") or b""
    if SHM.encode() not in raw:
        return
    for line in raw.decode("utf-8", "surrogateescape").splitlines():
        path = line.partition(SHM)[2]
        if path and not path.endswith(DELETED):
            yield SHM + path


def _sockets(pid: int, bound: Dict[str, str]) -> Iterable[str]:
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder) if bound else []
    except OSError:
        return
    for number in numbers:
        path = bound.get(proc.link(pid, f"fd/{number}") or "")
        if path:
            yield path


def _bound() -> Dict[str, str]:
    """`socket:[inode]` -> the path that it is bound to."""
    rows = (proc.read("/proc/net/unix") or b"").decode("utf-8", "surrogateescape").splitlines()[1:]
    found = [row.split(None, 7) for row in rows]
    return {f"socket:[{words[6]}]": words[7] for words in found if len(words) > 7 and words[7].startswith("/")}
