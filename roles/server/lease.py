"""The lease on every host of a deployment: rides on the first question, is kept by beats, given back at the end.

Two operators who deploy to one host in the same second: one has it, the other is told who, from where, since when and
doing what. Nobody's crash leaves one behind: without a beat it ends by itself after 30 s (roles/onhost/leases.py).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from roles.check import Facts
from roles.inventory.errors import AllranksError, Leased
from roles.plan import NodePlan
from roles.remote import Remote, each
from roles.remote.connect import jitter
from roles.server.run import who

T = TypeVar("T")
Say = Callable[[str], None]

ASK_AGAIN = 1.0  # seconds, with jitter, between two tries for a lease that somebody else has
LET_GO = 5.0  # seconds that giving it back may take: it ends by itself anyway


@dataclass(frozen=True)
class Claim:
    """Who wants to change something, and what they do. `id` is of this command alone."""

    what: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    who: str = field(default_factory=who)
    pid: int = field(default_factory=os.getpid)

    def request(self) -> dict[str, Any]:
        """As the host takes it with a stop: the run says what is covered."""
        return {"id": self.id, "who": self.who, "pid": self.pid, "what": self.what}

    def of(self, deployment: str, node: NodePlan) -> dict[str, Any]:
        """As the host takes it with a question for facts: a deployment's ports and GPUs there."""
        covered = {"deployment": deployment, "ports": list(node.ports), "gpus": list(node.gpus)}
        return {**self.request(), **covered}


class Lease:
    """A claim on all hosts of a plan. Ending the block gives it back wherever it was taken."""

    def __init__(self, what: str, remotes: Sequence[Remote], *, wait: float = 0.0) -> None:
        self.claim = Claim(what)
        self.held = False
        self.ours = False  # whether it was got on every host: what happens then is this command's to clean up
        self._remotes, self._wait = remotes, wait
        self._refusals: list[Leased] = []

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    @property
    def id(self) -> str | None:
        """What `start`, `stop` and `follow` are told; None when it is somebody else's time."""
        return self.claim.id if self.held else None

    def facts(self, ask: Callable[[], list[Facts]], say: Say) -> list[Facts]:
        """Ask for facts with the claim, again and again for `wait` seconds while somebody else has the lease.

        All hosts or none: what was taken on one is given back when another refuses, so that two who wait cannot block
        each other. The facts come back in any case: `require` tells whether anything may be changed.
        """
        end, said = time.monotonic() + self._wait, ""
        self.held = True  # from now on there may be something to give back
        while True:
            facts = ask()
            pairs = zip(self._remotes, facts, strict=True)
            self._refusals = [_refusal(r, f["lease"]) for r, f in pairs if not (f.get("lease") or {}).get("held")]
            self.ours = not self._refusals
            if self.ours:
                return facts
            self.drop()
            if time.monotonic() >= end:
                return facts
            names = ", ".join(sorted(str(refusal).split(" since ")[0] for refusal in self._refusals))
            if names != said:
                say(f"waiting for {names}")
                said = names
            time.sleep(min(jitter(ASK_AGAIN), max(0.0, end - time.monotonic())))
            self.held = True

    def require(self) -> None:
        """Raises: Leased, naming for each host who has it, from where, since when and doing what."""
        if len(self._refusals) == 1:
            raise self._refusals[0]
        if self._refusals:
            raise Leased("\n".join(map(str, self._refusals)))

    def given_back(self) -> None:
        """Every host has dropped it by itself (it does when it notes that the deployment is up)."""
        self.held = False

    def drop(self) -> None:
        """Give it back on every host that is still connected; elsewhere it ends by itself."""
        if self.held:
            self.held = False
            each([remote for remote in self._remotes if remote.is_open], self._drop)

    def _drop(self, remote: Remote) -> None:
        request = {"workdir": remote.host.workdir, "do": "drop", "id": self.claim.id}
        with contextlib.suppress(AllranksError):
            remote.ask("lease", request, timeout=LET_GO)


def _refusal(remote: Remote, answer: dict[str, Any] | None) -> Leased:
    answer = answer or {"message": "its facts came without a lease"}
    do = str(answer.get("do") or "").replace("--host HOST", f"--host {remote.host.name}")
    return Leased(f"{remote.host.name}: {answer.get('message')}", do=do)


def patiently(job: Callable[[], T], wait: float, say: Say) -> T:
    """Do it, again and again for `wait` seconds while another's lease is in the way. Raises: Leased after that."""
    end, told = time.monotonic() + wait, False
    while True:
        try:
            return job()
        except Leased as refusal:
            if time.monotonic() >= end:
                raise
            if not told:
                say(f"waiting for {str(refusal).split(' since ')[0]}")
                told = True
            time.sleep(min(jitter(ASK_AGAIN), max(0.0, end - time.monotonic())))
