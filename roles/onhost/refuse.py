"""Who has what a new run needs: a live run of ours, or a stranger on its port. Each is named."""

from __future__ import annotations

import time

from . import sockets
from .over import standing
from .problems import HostError
from .session import Session
from .state import Home, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .state import Json


def refuse(home: Home, wanted: Json) -> None:
    """Name whoever has what this run needs. Raises: HostError."""
    sessions = {}
    for other in standing(home):
        if not other.state:
            continue
        session = Session(other)
        session.look()
        if session.alive():
            sessions[session.number] = other
            _refuse_run(other, _in_common(other.state, wanted))
    for port in wanted["ports"]:
        held = sockets.holder(port)
        if held:
            owner = sessions.get(held["session"])
            held["run"], held["deployment"] = (owner.id, owner.state["deployment"]) if owner else (None, None)
            raise HostError("refused", f"port {port} is held by {_words(held)}", "stop it, or choose another port",
                          port=port, holder=held)  # fmt: skip


def _in_common(has: Json, wants: Json) -> str:
    if has["deployment"] == wants["deployment"]:
        return "the same deployment"
    for key, word in (("gpus", "GPU"), ("ports", "port")):
        both = sorted(set(has.get(key) or ()) & set(wants[key]))
        if both:
            return f"{word} {', '.join(map(str, both))}"
    return ""


def _refuse_run(run: Run, common: str) -> None:
    if not common:
        return
    s = run.state
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(s["started"]))
    message = f"{common}: in use by {s['deployment']} (run {run.id}, since {since}, by {s['who']})"
    live = {key: s.get(key) for key in ("run", "deployment", "started", "who", "from")}
    raise HostError("refused", message, "stop that deployment first", live=live)


def _words(held: Json) -> str:
    if held["pid"] is None:
        return f"a process of user {held['user']} that this login may not see"
    return f"pid {held['pid']} of user {held['user']}: {held['cmdline']}"
