"""Nodes that are silent to us -> whether another node reaches them, asked beside all else: frames never wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from roles.check.question import peer
from roles.inventory.errors import AllranksError
from roles.remote import Remote

PATIENCE = 10.0  # seconds for the answer
Told = tuple[bool | None, str]  # reached? None: the witness cannot say; and why not
Reaches = Callable[[int, Sequence[int]], Mapping[int, Told]]  # (witness, silent nodes) -> what it says of each
UNKNOWN: Told = (None, "")


def in_thread(job: Callable[[], None]) -> None:
    """Begin it, and go on."""
    threading.Thread(target=job, name="reach", daemon=True).start()


def reaching(remotes: Mapping[int, Remote]) -> Reaches:
    """Asks the on-host program of the witness, once for all that are silent."""

    def ask(witness: int, silent: Sequence[int]) -> Mapping[int, Told]:
        if witness not in remotes:
            return {}
        names = {node: remotes[node].host for node in silent if node in remotes}
        request = {"workdir": remotes[witness].host.workdir, "peers": [peer(host) for host in names.values()]}
        try:
            peers = remotes[witness].one("reach", request, "reached", timeout=PATIENCE)["peers"]
        except AllranksError:
            return {}
        return {node: told(peers.get(host.name)) for node, host in names.items()}

    return ask


def told(answer: Mapping[str, object] | None) -> Told:
    """One peer's row. Without an answer in time, an address or a way out of the witness itself it can say nothing."""
    if answer is None:
        return UNKNOWN
    if answer["reached"]:
        return True, ""
    return (False, str(answer["error"])) if answer["from"] else UNKNOWN
