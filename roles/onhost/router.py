"""router: what SGLang's own router on this host serves; take a replica in, or out so that no new request goes to it.

Spoken to over its HTTP API as sglang-router 0.3 has it: GET and POST /workers, DELETE /workers/ID.
"""

from __future__ import annotations

import time

from .frames import Frames
from .problems import HostError
from .request import Request
from .server_http import Server
from .session import Session
from .state import Home, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Sequence

    from .state import Json

EVERY = 0.2  # seconds between two looks
SETTLE = 0.5  # seconds after a replica has left: requests that had been sent on to it arrive there


class Router:
    """One router by its HTTP port."""

    def __init__(self, run: Run, port: int) -> None:
        self.run, self._server = run, Server("127.0.0.1", port)

    def workers(self) -> List[Json]:
        """What it serves: [{url, healthy, load, id}]. Empty too where it does not answer."""
        _, told, _ = self._server.ask("/workers", timeout=5.0)
        rows = told.get("workers") if isinstance(told, dict) else None
        return [
            {
                "url": row.get("url"),
                "healthy": bool(row.get("is_healthy")),
                "load": row.get("load"),
                "id": row.get("id"),
            }
            for row in rows or ()
        ]

    def answers(self) -> bool:
        """Whether it is there: 200 to /health, whoever it serves."""
        return self._server.health(5.0)[0] == 200

    def lives(self) -> bool:
        """Whether its process does."""
        session = Session(self.run)
        session.look()
        return bool(session.alive())

    def healthy(self, urls: Sequence[str]) -> bool:
        """Whether it serves all of these, and finds them well."""
        return set(urls) <= {row["url"] for row in self.workers() if row["healthy"]}

    def add(self, urls: Sequence[str]) -> None:
        """Those that it does not have yet."""
        have = {row["url"] for row in self.workers()}
        for url in urls:
            if url not in have:
                self._server.ask("/workers", {"url": url}, timeout=10.0)

    def remove(self, urls: Sequence[str]) -> bool:
        """No new request goes to these; those that they have begun are left to them. Gives whether it had any."""
        found = [row for row in self.workers() if row["url"] in urls]
        for row in found:
            self._server.ask(f"/workers/{row['id']}", timeout=10.0, method="DELETE")
        return bool(found)


def router(request: Request, frames: Frames) -> None:
    """`do`: wait (until it is there with all `urls`, then note that it is up), workers, add or remove."""
    run = Home(request.text("workdir")).run(request.run_id())
    there = Router(run, int(request.number("port")))
    urls, what, seconds = request.many("urls", str), request.text("do"), request.number("seconds", 60)
    acts: Dict[str, Callable[[], Any]] = {
        "wait": lambda: _wait(there, urls, seconds, frames),
        "workers": lambda: None,
        "add": lambda: _add(there, urls, seconds),
        "remove": lambda: _remove(there, urls, seconds),
    }
    if what not in acts:
        raise HostError("bad-request", f"`do` is {what!r}: one of {', '.join(acts)}")
    had = acts[what]()
    frames.send("workers", run=run.id, workers=there.workers(), had=had, alive=there.lives(), health=there.answers())


def _until(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(EVERY)
    return True


def _wait(there: Router, urls: Sequence[str], seconds: float, frames: Frames) -> None:
    def there_or_dead() -> bool:
        frames.send("beat")
        return not there.lives() or (there.answers() and there.healthy(urls))

    _until(there_or_dead, seconds)
    if there.lives() and there.answers():
        there.run.write("up.json", {"t": round(time.time(), 3), "ranks": []}, lasting=True)


def _add(there: Router, urls: Sequence[str], seconds: float) -> None:
    there.add(urls)
    _until(lambda: there.healthy(urls), seconds)


def _remove(there: Router, urls: Sequence[str], seconds: float) -> bool:
    had = there.remove(urls)
    if had:
        _until(lambda: not {row["url"] for row in there.workers()} & set(urls), seconds)
        time.sleep(SETTLE)
    return had
