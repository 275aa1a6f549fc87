"""All processes of a host -> the SGLang servers among them that allranks did not start. They are only looked at."""

from __future__ import annotations

import os
import re

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Sequence, Set, Tuple

    from .state import Json

INTERPRETER = re.compile(r"(?:\S*/)?(?:python[\d.]*|sglang)$")
RANK = "sglang::"
# flag -> key; the numbers that say how many ranks there should be, and where
FLAGS = {
    "--tp": "tp", "--tp-size": "tp", "--tensor-parallel-size": "tp", "--pp": "pp", "--pp-size": "pp",
    "--pipeline-parallel-size": "pp", "--dp": "dp", "--dp-size": "dp", "--data-parallel-size": "dp",
    "--nnodes": "nnodes", "--node-rank": "node_rank", "--port": "port",
}  # fmt: skip
PORT = 30000  # SGLang's own


class Server:
    """One server: its main process, if that lives, and all processes below it."""

    __slots__ = ("main", "pids")

    def __init__(self, main: Optional[int], pids: List[int]) -> None:
        self.main, self.pids = main, pids


def is_main(argv: Sequence[str]) -> bool:
    """Is this a command line of SGLang itself, not of a shell, a pager or an editor that has its name in it?"""
    if not argv or not INTERPRETER.match(argv[0]):
        return False
    words = list(argv[1:40])
    module = ("-m", "sglang.launch_server") in pairs(words)
    return module or any(word.endswith("/launch_server.py") for word in words) or _serves(argv)


def _serves(argv: Sequence[str]) -> bool:
    """`sglang serve ...`, which shows as `python /.../bin/sglang serve ...`."""
    return any(os.path.basename(a) == "sglang" and b == "serve" for a, b in pairs(argv[:4]))


def pairs(words: Sequence[str]) -> List[Tuple[str, str]]:
    """Each word with the one after it."""
    return [(words[place], words[place + 1]) for place in range(len(words) - 1)]


def servers(stats: Sequence[proc.Stat], ours: Set[int]) -> List[Server]:
    """The servers whose processes are not in `ours`; ranks that lost their main are one without, by session."""
    alive = {s.pid: s for s in stats if s.pid not in ours and s.pid != os.getpid()}
    argvs = {pid: proc.arguments(pid) for pid in alive}
    mains = {pid for pid, argv in argvs.items() if is_main(argv)}
    roots = [pid for pid in sorted(mains) if not _above(pid, alive, mains)]
    children: Dict[int, List[int]] = {}
    for s in alive.values():
        children.setdefault(s.ppid, []).append(s.pid)
    found = [Server(root, _below(root, children)) for root in roots]
    taken = {pid for server in found for pid in server.pids}
    orphans: Dict[int, List[int]] = {}
    for pid, argv in argvs.items():
        if pid not in taken and argv and argv[0].startswith(RANK):
            orphans.setdefault(alive[pid].session, []).extend(_below(pid, children))
    return found + [Server(None, sorted(set(pids))) for pids in orphans.values()]


def _above(pid: int, alive: Dict[int, proc.Stat], mains: Set[int]) -> bool:
    """Whether one of its ancestors is a main: it is a fork that has not renamed itself yet."""
    while pid in alive:
        pid = alive[pid].ppid
        if pid in mains:
            return True
    return False


def _below(pid: int, children: Dict[int, List[int]]) -> List[int]:
    found = [pid]
    for each in found:
        found += [child for child in children.get(each, ()) if child not in found]
    return found


def asked(argv: Sequence[str]) -> Json:
    """What a command line says of sizes, node and address: {tp, pp, dp, nnodes, node_rank, port, host}."""
    told: Json = {"tp": 1, "pp": 1, "dp": 1, "nnodes": 1, "node_rank": 0, "port": PORT, "host": "127.0.0.1"}
    words = [word for arg in argv for word in (arg.split("=", 1) if arg.startswith("--") else [arg])]
    for name, value in pairs(words):
        if name in FLAGS and value.isdigit():
            told[FLAGS[name]] = int(value)
        elif name == "--host":
            told["host"] = value
    if told["host"] in ("0.0.0.0", "::"):
        told["host"] = "127.0.0.1"
    return told


def log_of(pid: int) -> Optional[str]:
    """The file that a process writes its errors, or else its words to; None when that is no file."""
    for name in ("fd/2", "fd/1"):
        path = proc.link(pid, name)
        if path.startswith("/") and os.path.isfile(path):
            return path
    return None
