"""The same profile on many hosts, independent of each other: batch after batch, until one of them fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Literal, Protocol

from roles.inventory import Host, Profile
from roles.inventory.errors import AllranksError, InputError, NotYet
from roles.ledger import Ledger
from roles.plan import Plan, plan_for
from roles.remote.fleet import PARALLEL
from roles.server.confirm import Observer
from roles.server.deploy import Options, Report, deploy
from roles.watch import Board, Change

Outcome = Literal["up", "unchanged", "not up", "error", "not reached"]
DETACH = 20.0  # seconds that the others may take to let go after Ctrl-C


@dataclass(frozen=True)
class Rollout:
    """How many hosts at a time. `batch`: 0 is all; `max_failures`: more failed replicas than this end the roll-out
    after their batch; `parallel`: connections at once; `deadline`: seconds a host has until it is up, or None."""

    batch: int = 0
    max_failures: int = 0
    parallel: int = PARALLEL
    deadline: float | None = None

    def batches(self, plans: Sequence[Plan]) -> list[Sequence[Plan]]:
        """The plans, as many at a time as one batch has."""
        size = self.batch or len(plans)
        return [plans[at : at + size] for at in range(0, len(plans), size)]


@dataclass(frozen=True)
class Replica:
    """What became of one of them. `sentence`: why it is not up, or that it is."""

    plan: Plan
    outcome: Outcome
    sentence: str
    seconds: float = 0.0
    report: Report | None = None
    error: Exception | None = None

    @property
    def up(self) -> bool:
        """Whether it is up now."""
        return self.outcome in ("up", "unchanged")


class Screen(Protocol):
    """Whoever watches a roll-out."""

    def replica(self, plan: Plan) -> Observer:
        """The observer of one deploy."""

    def ended(self, replica: Replica) -> None:
        """One has come to its end."""


Around = Callable[[Plan, Callable[[], Report]], Report]  # does something before and after a replica's own deploy


def plans_for(profile: Profile, hosts: Sequence[Host]) -> list[Plan]:
    """A plan a host. Raises: InputError when the profile is for several nodes."""
    if profile.layout.nnodes != 1:
        what = f"profile {profile.name}: layout.nnodes is {profile.layout.nnodes}: a replica has one host"
        raise InputError(what, do="deploy it without --replicas")
    return [plan_for(profile, (host,)) for host in hosts]


def roll_out(
    plans: Sequence[Plan],
    screen: Screen,
    ledger: Ledger,
    options: Options,
    rollout: Rollout,
    around: Around | None = None,
) -> list[Replica]:
    """Deploy each; those of a batch together, the next batch when all of the one before are up.

    Every host reports. Ctrl-C (KeyboardInterrupt) leaves all servers as they are.
    """
    done: list[Replica] = []
    for batch in rollout.batches(plans):
        if sum(not replica.up for replica in done) > rollout.max_failures:
            done += [Replica(plan, "not reached", "not begun: others had failed before") for plan in batch]
        else:
            done += _together(batch, screen, ledger, options, rollout, around)
    for replica in done:
        if replica.outcome == "not reached":
            screen.ended(replica)
    return done


def _together(
    batch: Sequence[Plan],
    screen: Screen,
    ledger: Ledger,
    options: Options,
    rollout: Rollout,
    around: Around | None,
) -> list[Replica]:
    stop = threading.Event()

    def one(plan: Plan) -> Replica:
        observer = _Bounded(screen.replica(plan), plan, stop, rollout.deadline)
        began = time.monotonic()

        def work() -> Report:
            return deploy(plan, observer, ledger, options)

        try:
            replica = _judged(plan, around(plan, work) if around else work(), time.monotonic() - began)
        except AllranksError as error:
            replica = Replica(plan, "error", str(error), time.monotonic() - began, error=error)
        screen.ended(replica)
        return replica

    with ThreadPoolExecutor(max_workers=min(len(batch), rollout.parallel)) as pool:
        futures = [pool.submit(one, plan) for plan in batch]
        try:
            wait(futures)
        except KeyboardInterrupt:
            stop.set()
            _let_go(futures)
            raise
        return [future.result() for future in futures]


def _let_go(futures: Sequence[Future[Replica]]) -> None:
    for future in futures:
        future.cancel()
    wait(futures, timeout=DETACH)


def _judged(plan: Plan, report: Report, seconds: float) -> Replica:
    if report.already is not None:
        return Replica(plan, "unchanged", "up and unchanged", seconds, report)
    sentence = report.verdict.sentence if report.verdict else ""
    return Replica(plan, "up" if report.up else "not up", sentence, seconds, report)


class _Bounded:
    """An observer that ends its deploy, leaving the server as it is: on Ctrl-C, or when its time is over."""

    def __init__(self, inner: Observer, plan: Plan, stop: threading.Event, deadline: float | None) -> None:
        self._inner, self._plan, self._stop, self._deadline = inner, plan, stop, deadline
        self._began = time.monotonic()

    def step(self, text: str) -> None:
        """One line about what is being done."""
        self._check()
        self._inner.step(text)

    def board(self, board: Board, changes: Sequence[Change], now: float) -> None:
        """The board as it is; called four times a second at least."""
        self._check()
        self._inner.board(board, changes, now)

    def _check(self) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt
        if self._deadline is not None and time.monotonic() - self._began > self._deadline:
            host = self._plan.nodes[0].host.name
            raise NotYet(f"{host}: not up within its deadline of {self._deadline:.0f} s; left as it is")
