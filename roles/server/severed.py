"""A host of several that is silent: when no other node reaches it either, the deployment is lost; else only we are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from roles.inventory.errors import AllranksError
from roles.remote import Remote
from roles.watch import Board, NodeState, Verdict

SSH_PORT = 22
ASK_EVERY = 5.0  # seconds between two questions
GIVEN_UP = (
    30.0  # seconds of silence, to us and to another node, after which a host is lost: a switch may be back by then
)
PATIENCE = 10.0  # seconds for the answer

Say = Callable[[str], None]


class Severed:
    """Asks a node that answers whether it reaches one that does not. Costs nothing while all answer."""

    def __init__(self, remotes: Mapping[int, Remote], say: Say) -> None:
        self._remotes, self._say = remotes, say
        self._asked = 0.0
        self._said: set[int] = set()

    def verdict(self, board: Board, now: float) -> Verdict | None:
        """Lost (failed, when it never was up) once a node is silent for good; None: it is not, or not known yet."""
        silent = [node for node in board.nodes.values() if not node.connected and node.lost_at is not None]
        self._said &= {node.node for node in silent}
        witness = next((node for node in board.nodes.values() if node.connected), None)
        if not silent or witness is None or now - self._asked < ASK_EVERY:
            return None
        self._asked = now
        for node in silent:
            why = self._unreached(witness, node)
            if why is None:
                continue
            lasted = now - (node.lost_at or now)
            if lasted > GIVEN_UP:
                return lost(board, node, witness, lasted, why)
            if node.node not in self._said:
                self._said.add(node.node)
                self._say(
                    f"{witness.host} does not reach {node.host} either ({why}): lost, if that lasts {GIVEN_UP:.0f} s"
                )
        return None

    def _unreached(self, witness: NodeState, silent: NodeState) -> str | None:
        """Why the witness does not reach it; None: it does, or nobody can say."""
        there = self._remotes[silent.node].host
        peer = {"name": there.name, "address": there.internal, "port": there.port or SSH_PORT}
        remote = self._remotes[witness.node]
        try:
            answer = remote.one("reach", {"workdir": remote.host.workdir, "peers": [peer]}, "reached", timeout=PATIENCE)
        except AllranksError:
            return None
        told = answer["peers"].get(there.name) or {"reached": False, "error": "no answer"}
        return None if told["reached"] else str(told["error"])


def lost(board: Board, node: NodeState, witness: NodeState, seconds: float, why: str) -> Verdict:
    """The verdict on a host that nobody reaches."""
    label = next((state.label for state in board.ranks.values() if state.node == node.node), None)
    cause = f"{node.host} has not answered for {seconds:.0f} s, and {witness.host} does not reach it either ({why})"
    do = f"look at {node.host} and its network; when it answers, inv teardown ends what may run there still"
    who = f"{label} on {node.host}" if label else node.host
    kind: Literal["failed", "lost"] = "failed" if board.up_at is None else "lost"
    return Verdict(kind, f"{who}: {cause}", label, node.host, cause=cause, do=do, id="severed")
