"""Is the server answering, as what, and does it generate? Asked in threads of their own: the log never waits."""

from __future__ import annotations

import threading
import time

from .problems import HostError
from .request import Request
from .server_http import Server
from .state import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    Send = Callable[..., None]

UNTIL_UP, WHEN_UP, AFTER_LOSS = 1.0, 10.0, 5.0  # seconds between two health requests
TRIES = 5  # for the settings


class Probe:
    """Health until the follower ends, one request at a time; after the first 200, settings and one generation."""

    def __init__(self, spec: Request, run: Run, send: Send, ours: threading.Event) -> None:
        self.port = int(spec.number("port", run.state.get("port") or 0))
        if not self.port:
            raise HostError("bad-request", "`probe` lacks `port`, and the run has none")
        self.server = Server(spec.text("address", "127.0.0.1"), self.port, api_key(run))
        self.model, self.prompt = spec.text("model", "default"), spec.text("prompt", "Say hello.")
        self.health_timeout = spec.number("health_timeout", 25)
        self.generation_timeout = spec.number("generation_timeout", 600)
        self.send, self.ours = send, ours

    def start(self) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self._watch_health, name="health", daemon=True).start()

    def _watch_health(self) -> None:
        confirmed = False
        while True:
            self.ours.wait()  # never ask a stranger on our port
            status, seconds, error = self.server.health(self.health_timeout)
            self.send("http", what="health", status=status, seconds=seconds, **_error(error))
            if status == 200 and not confirmed:
                confirmed = True
                threading.Thread(target=self._confirm, name="confirm", daemon=True).start()
            time.sleep(WHEN_UP if status == 200 else AFTER_LOSS if confirmed else UNTIL_UP)

    def _confirm(self) -> None:
        for _ in range(TRIES):
            settings, version, error = self.server.settings()
            if settings is not None:
                break
            time.sleep(2)
        self.send("settings", settings=settings, version=version, **_error(error))
        self.send("generation", **self.server.generate(self.model, self.prompt, self.generation_timeout))


def _error(error: Optional[str]) -> Dict[str, Any]:
    return {"error": error} if error else {}


def api_key(run: Run) -> Optional[str]:
    """The server's key from the run's own secrets, where it has one."""
    import shlex

    try:
        with open(run.path("secrets.env"), encoding="utf-8") as file:
            pairs = [word.partition("=") for word in shlex.split(file.read())]
    except (OSError, ValueError):
        return None
    return {name: value for name, _, value in pairs}.get("SGLANG_API_KEY")
