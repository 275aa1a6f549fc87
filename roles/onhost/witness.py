"""look: what each process of a server is doing, its control group, port, health, log; the kernel's log and the GPUs.

Also of servers that allranks did not start. Nothing is changed, nothing is written, nobody is sent a signal.
"""

from __future__ import annotations

import os
import threading
import time

from . import cgroup, gpu, proc, sockets
from .closeup import Sample, row, samples
from .frames import Frames
from .kernel_log import kernel_log
from .over import standing
from .request import Request
from .server_http import Server as Http
from .servers import Server, asked, log_of, servers
from .session import Session
from .state import Home, Run
from .status import summary
from .tail import Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional

    from .state import Json

MOMENT = 0.5  # seconds between the two looks
HEALTH = 6.0  # seconds; SGLang needs at least one to say 200, and 20 to say 503
HEAD, TAIL = 2 << 20, 1 << 20  # bytes of a log: its loading is at its start, its end at its end
GPU_FIELDS = "index,name,memory.total,memory.used,power.draw,utilization.gpu"


class Found:
    """One server and what is told of it."""

    def __init__(self, told: Json, pids: List[int], log: Optional[str]) -> None:
        self.told, self.pids, self.log = told, pids, log
        self.titles: Dict[int, str] = {}
        self.before: Dict[int, Sample] = {}

    def finish(self) -> None:
        """The second look."""
        now = samples(self.pids)
        rows = [row(now[pid], self.before.get(pid), self.titles.get(pid) or proc.title(pid)) for pid in now]
        self.told.update(procs=rows, now=round(time.time(), 3))
        if self.log and os.path.exists(self.log):
            seen = os.stat(self.log)
            self.told.update(log=self.log, log_bytes=seen.st_size, log_age=round(time.time() - seen.st_mtime, 1))
            room = os.statvfs(self.log)
            self.told["log_free_mib"] = room.f_bavail * room.f_frsize >> 20


def look(request: Request, frames: Frames) -> None:
    """A `witness` frame for each server, its log's frames (`of`: its number) after it, and one `host` frame.

    run: only this one. foreign: also servers that allranks did not start (default). log: also the log's text.
    """
    gpus = _ask() if request.flag("gpus", True) else None
    found = _found(Home(request.text("workdir")), request)
    for each in found:
        each.before = samples(each.pids)
    began = time.monotonic()
    threads = [threading.Thread(target=_health, args=(each,)) for each in found if request.flag("health", True)]
    for thread in threads:
        thread.start()
    kernel = kernel_log()
    first = gpu.answer(gpus) if gpus else ([], None)
    time.sleep(max(0.0, began + request.number("moment", MOMENT) - time.monotonic()))
    for each in found:
        each.finish()
    again = _ask() if first[0] else None
    for thread in threads:
        thread.join()
    frames.send("host", gpus=_gpus(first[0], gpu.answer(again)[0] if again else []), gpu_error=first[1],
                kernel=kernel, memory=cgroup.memory(os.getpid()))  # fmt: skip
    for number, each in enumerate(found):
        frames.send("witness", of=number, **each.told)
        for fields in _text(each.log) if request.flag("log", True) else ():
            frames.send(fields.pop("f"), of=number, **fields)


def _found(home: Home, request: Request) -> List[Found]:
    stats = proc.scan()  # first: whatever is forked later is of a run's session then, and not a stranger
    only = request.maybe("run", str) and request.run_id()
    runs = [home.run(only)] if only else standing(home)
    found = [_of_run(run) for run in runs]
    if not request.flag("foreign", True):
        return found
    every = found if not only else [_of_run(run) for run in home.runs() if not run.state.get("stopped")]
    ours = {pid for each in every for pid in each.pids}
    return found + [_of_stranger(server) for server in servers(stats, ours)]


def _of_run(run: Run) -> Found:
    told = summary(run)
    session = Session(run) if run.state else None
    seen = session.look() if session else []
    found = Found(dict(told, ours=True), [p.stat.pid for p in seen], run.log)
    found.titles = {p.stat.pid: p.title for p in seen}
    alive = [p.stat.pid for p in seen if not p.stat.dead]
    marked = run.state.get("memory")
    here = [(marked["version"], marked["folder"])] if marked else []
    found.told["memory"] = cgroup.memory(alive[0]) if alive else cgroup.of(here)
    found.told["oom_kills"] = cgroup.since(marked)
    found.told["ended"] = os.stat(run.path("exit")).st_mtime if os.path.exists(run.path("exit")) else None
    return found


def _of_stranger(server: Server) -> Found:
    pids = server.pids
    head = server.main or pids[0]
    argv = proc.arguments(head)
    told = asked(argv) if server.main else {}
    port = told.get("port")
    held = sockets.holder(port, pids) if port else None
    if held:
        held["ours"] = held["pid"] in pids
    told.update(
        ours=False, run=None, deployment=None, main=server.main, memory=cgroup.memory(head), health=None,
        cmdline=" ".join(proc.redact(argv))[:2000], user=sockets.user_name(proc.uid(head) or 0),
        port={"port": port, "holder": held} if port else None, probe_address=told.pop("host", None),
    )  # fmt: skip
    log = next((path for path in map(log_of, [head, *pids]) if path), None)
    return Found(told, pids, log)


def _health(found: Found) -> None:
    """Only where a process of this very server listens: somebody else's answer would say nothing of it."""
    port = found.told.get("port") or {}
    if (port.get("holder") or {}).get("ours"):
        server = Http(found.told.get("probe_address") or "127.0.0.1", port["port"])
        status, seconds, error = server.health(HEALTH)
        found.told.update(health=status, health_seconds=seconds, health_error=error)


def _text(path: Optional[str]) -> Iterator[Json]:
    """The beginning and the end of a log."""
    if path and os.path.exists(path):
        size = os.stat(path).st_size
        yield from Tail(path, 0).rest(min(size, HEAD), final=True)
        if size > HEAD:
            yield from Tail(path, max(HEAD, size - TAIL)).rest(size, final=True)


def _ask() -> Any:
    return gpu.query("gpu", GPU_FIELDS)


def _gpus(first: List[List[str]], second: List[List[str]]) -> List[Json]:
    later = {r[0]: r for r in second}
    return [
        {"index": gpu.number(r[0]), "name": ",".join(r[1:-4]), "total_mib": gpu.number(r[-4]),
         "used_mib": gpu.number(later.get(r[0], r)[-3]), "before_mib": gpu.number(r[-3]),
         "power_w": gpu.number(r[-2]), "utilization": gpu.number(r[-1])}
        for r in first
        if len(r) >= 6
    ]  # fmt: skip
