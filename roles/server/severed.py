"""A host of several that is silent: lost when no other node reaches it either and /health fails; else only we are.

A wrong verdict here ends a healthy server: whatever is not known for sure is none.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from roles.server.reaching import UNKNOWN, Reaches, Told, in_thread
from roles.watch import Board, NodeState, Verdict

ASK_EVERY = 5.0  # seconds between two questions
GIVEN_UP = 30.0  # seconds of silence, to us and to the others, after which a host is lost: a switch may be back by then
WELL = 45.0  # seconds that a /health of 200 counts: it is asked every 10 s, and one answer may take 25 s

Say = Callable[[str], None]
Begin = Callable[[Callable[[], None]], None]
Silence = tuple[int, float]  # node, and since when it has been silent to us: another silence is another matter


@dataclass(frozen=True)
class Heard:
    """What the other nodes say of a silent one, again and again the same. Epoch seconds."""

    reached: bool
    since: float
    latest: float
    witness: str
    why: str

    def denies(self, now: float) -> bool:
        """Whether nobody has reached it for long enough, by an answer that is not old itself."""
        return not self.reached and self.latest - self.since > GIVEN_UP and now - self.latest <= GIVEN_UP


def counted(before: Heard | None, told: Told, witness: str, now: float) -> Heard | None:
    """With one more answer. One that knows nothing changes nothing; a different or a late one begins anew."""
    reached, why = told
    if reached is None:
        return before
    same = before is not None and before.reached == reached and now - before.latest <= GIVEN_UP
    return Heard(reached, before.since if before is not None and same else now, now, witness, why)


class Severed:
    """Asks nodes that answer, in turn, whether they reach those that do not. Costs nothing while all answer."""

    def __init__(self, reaches: Reaches, say: Say, begin: Begin = in_thread) -> None:
        self._reaches, self._say, self._begin = reaches, say, begin
        self._answers: queue.SimpleQueue[tuple[str, dict[Silence, Told]]] = queue.SimpleQueue()
        self._asking, self._asked, self._turn = False, 0.0, 0
        self._heard: dict[Silence, Heard] = {}
        self._said: set[Silence] = set()
        self._well = 0.0  # when /health last was 200

    def verdict(self, board: Board, now: float) -> Verdict | None:
        """Lost (failed, when it never was up) once a node is silent for good; None: it is not, or not known yet."""
        self._note_health(board, now)
        silent = {(n.node, n.lost_at): n for n in board.nodes.values() if not n.connected and n.lost_at is not None}
        self._said &= set(silent)
        self._hear(silent, now)
        self._ask(board, silent, now)
        if now - self._well <= WELL:
            return None
        found = (self._judged(board, silence, node, now) for silence, node in silent.items())
        return next((verdict for verdict in found if verdict), None)

    def _note_health(self, board: Board, now: float) -> None:
        if board.health is not None and board.health.status == 200:
            self._well = max(self._well, board.health.at)
        elif board.up_at is not None and not self._well:
            self._well = now  # it was up: until it has been asked it counts as well

    def _hear(self, silent: Mapping[Silence, NodeState], now: float) -> None:
        while not self._answers.empty():
            witness, answers = self._answers.get()
            self._asking = False
            heard = {each: counted(self._heard.get(each), answers.get(each, UNKNOWN), witness, now) for each in silent}
            self._heard = {each: found for each, found in heard.items() if found is not None}
        for silence, heard_of in self._heard.items():
            if silence in silent and not heard_of.reached and silence not in self._said:
                self._said.add(silence)
                either = f"{heard_of.witness} does not reach {silent[silence].host} either ({heard_of.why})"
                self._say(f"{either}: lost, if that lasts {GIVEN_UP:.0f} s and /health is not 200")

    def _ask(self, board: Board, silent: Mapping[Silence, NodeState], now: float) -> None:
        """One question to one node about all that are silent."""
        witnesses = [node for node in board.nodes.values() if node.connected]
        if not silent or not witnesses or self._asking or now - self._asked < ASK_EVERY:
            return
        self._asking, self._asked, self._turn = True, now, self._turn + 1
        witness = witnesses[self._turn % len(witnesses)]
        asked = list(silent)

        def job() -> None:
            answers: Mapping[int, Told] = {}
            try:
                answers = self._reaches(witness.node, [node for node, _ in asked])
            finally:
                self._answers.put((witness.host, {each: answers.get(each[0], UNKNOWN) for each in asked}))

        self._begin(job)

    def _judged(self, board: Board, silence: Silence, node: NodeState, now: float) -> Verdict | None:
        heard = self._heard.get(silence)
        lasted = now - silence[1]
        if heard is not None and heard.denies(now):
            return lost(board, node, lasted, f"{heard.witness} does not reach it either ({heard.why})")
        if lasted > GIVEN_UP and not (heard is not None and heard.reached) and unwell(board, now):
            return lost(board, node, lasted, f"/health answers no more ({node.why})")
        return None


def unwell(board: Board, now: float) -> bool:
    """Whether node 0, which answers, has told of a /health that failed just now, of a server that was up."""
    if board.up_at is None or board.health is None or not board.nodes[0].connected:
        return False
    return board.health.status != 200 and now - board.health.at <= WELL


def lost(board: Board, node: NodeState, seconds: float, why: str) -> Verdict:
    """The verdict on a host that has gone for good: it takes the whole model with it."""
    label = next((state.label for state in board.ranks.values() if state.node == node.node), None)
    cause = f"{node.host} has not answered for {seconds:.0f} s, and {why}"
    do = f"look at {node.host} and its network; when it answers, inv teardown ends what may run there still"
    who = f"{label} on {node.host}" if label else node.host
    kind: Literal["failed", "lost"] = "failed" if board.up_at is None else "lost"
    return Verdict(kind, f"{who}: {cause}", label, node.host, cause=cause, do=do, id="severed")
