"""The story of `inv deploy`: check, stop what it replaces, start, and wait until every rank has answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from roles import check
from roles.inventory.errors import AllranksError, NotYet, Refused, Unreachable
from roles.ledger import Ledger
from roles.plan import Plan
from roles.plan.router import url_of
from roles.server import secrets
from roles.server.confirm import Confirmation, Observer
from roles.server.deployment import Deployment
from roles.server.learned import learned, remember
from roles.server.predecessors import all_here, in_the_way, stop_old
from roles.server.router import Routers
from roles.server.run import Run, new_id
from roles.server.standing import Standing, holder_of
from roles.watch import Board, Verdict


@dataclass(frozen=True)
class Options:
    """How a deploy may go about it.

    restart: replace a run that is up and unchanged. replace: also stop other deployments of ours that hold the plan's
    ports or GPUs. keep: leave what is left of a failed run as it is. accept_new: take unknown host keys.
    wait: seconds to wait for another operator's lease. routers: a run that is replaced leaves these first.
    """

    restart: bool = False
    replace: bool = False
    keep: bool = False
    accept_new: bool = False
    wait: float = 0.0
    overrides: tuple[str, ...] = ()
    routers: Routers | None = None


@dataclass(frozen=True)
class Report:
    """How a deploy ended. `already`: it was up and unchanged, nothing was done. `left`: what could not be stopped."""

    plan: Plan
    run: str
    verdict: Verdict | None
    board: Board | None
    seconds: float
    already: Standing | None = None
    left: tuple[str, ...] = ()

    @property
    def up(self) -> bool:
        """Whether every rank has answered and all the other conditions hold."""
        return self.already is not None or (self.verdict is not None and self.verdict.kind == "up")


def deploy(plan: Plan, observer: Observer, ledger: Ledger, options: Options | None = None) -> Report:
    """Carry out exactly this plan.

    Gives a Report, up or not. Ctrl-C (KeyboardInterrupt) and a lost connection leave the server as it is.
    Raises: InputError (a secret has no value), Refused (nothing was changed), Unreachable, AllranksError.
    """
    options = options or Options()
    began = time.time()
    values = secrets.resolve(
        {name: ref for node in plan.nodes for name, ref in node.secrets.items()}, plan.profile.name
    )
    run = Run(new_id(plan, began), plan, began)
    try:
        with Deployment(plan, accept_new=options.accept_new, wait=options.wait) as deployment:
            return _carried_out(deployment, run, values, observer, ledger, options)
    except (Refused, Unreachable) as error:
        if ledger.read(run.id) is None:  # it ended before there was a run: that it was tried is remembered too
            remember(ledger, run, options.overrides)
            ledger.close(run.id, "refused" if isinstance(error, Refused) else "unreachable", str(error), time.time())
        raise


def _carried_out(
    deployment: Deployment, run: Run, values: dict[str, str], observer: Observer, ledger: Ledger, options: Options
) -> Report:
    """The deploy itself, on connections that are opened by what is asked first."""
    plan, began = run.plan, run.started
    observer.step(f"checking {_names(plan)}")
    facts = deployment.lease.facts(deployment.facts, observer.step)
    standing = [found for found in deployment.standing(facts) if found.alive]
    mine = [found for found in standing if found.deployment == plan.name]
    current = mine[-1] if mine and mine[-1].head.get("plan_hash") == plan.hash and not options.restart else None
    if current is not None and whole(current, plan):
        return Report(plan, current.run, None, None, time.time() - began, already=current)
    if current is not None and current.up is None and len(current.nodes) == len(plan.nodes):
        observer.step(f"run {current.run} is loading already (started by {current.head.get('who')}): following it")
        return _confirmed(deployment, Run(current.run, plan, current.started), observer, ledger, options, began)
    deployment.lease.require()
    others = in_the_way(plan, standing, replace=options.replace)
    _checked(plan, facts, [old.run for old in (*mine, *others)], observer)
    for old in (*mine, *others):
        all_here(plan, old)
    left = options.routers.leave(url_of(plan), observer.step) if options.routers and mine else []
    for old in (*mine, *others):
        stop_old(deployment, old, observer)
        ledger.stop(old.run, f"stopped: run {run.id} took its place", time.time())
    observer.step(f"starting run {run.id}")
    remember(ledger, run, options.overrides)
    try:
        deployment.start(run, values)
    except AllranksError as error:
        ledger.close(run.id, "refused" if isinstance(error, Refused) else "failed", str(error), time.time())
        raise
    report = _confirmed(deployment, run, observer, ledger, options, began)
    if options.routers and left and report.up:
        options.routers.join(url_of(plan), left, observer.step)
    return report


def _checked(plan: Plan, facts: Sequence[check.Facts], ours: Sequence[str], observer: Observer) -> None:
    """Say what the checks warn of. Raises: Refused with all that cannot work."""
    found = check.findings(plan, facts, ours=ours, now=time.time())
    for finding in found:
        if finding.level == "warning":
            observer.step(f"warning: {finding}")
    check.refuse(found)


def whole(standing: Standing, plan: Plan) -> bool:
    """Whether a run that was confirmed up still has every process and its port, as far as the hosts can see."""
    if standing.up is None or len(standing.nodes) != len(plan.nodes):
        return False
    summaries = [summary for _, summary in standing.nodes.values()]
    ranks = [rank for summary in summaries for rank in summary.get("ranks") or []]
    holder = holder_of(standing.head)
    return (
        all(summary.get("alive") for summary in summaries)
        and len(ranks) == len(plan.ranks)
        and all(rank.get("alive") for rank in ranks)
        and bool(holder and holder.get("ours"))
    )


def _confirmed(
    deployment: Deployment, run: Run, observer: Observer, ledger: Ledger, options: Options, began: float
) -> Report:
    """Wait for the verdict, write it down, and stop what is left of a run that failed."""
    if ledger.read(run.id) is None:
        remember(ledger, run, options.overrides)
    confirmation = Confirmation(deployment, run, observer, ledger.path(run.id))
    try:
        verdict = confirmation.wait()
    except (KeyboardInterrupt, NotYet) as error:  # NotYet: the observer has waited as long as it was told to
        ledger.close(run.id, "detached", f"left loading ({str(error) or 'Ctrl-C'})", time.time())
        raise
    left: list[str] = []
    ours = deployment.lease.ours  # else somebody else's run was only watched: theirs to clean up
    if verdict.kind in ("failed", "foreign", "different", "lost") and not options.keep and ours:
        observer.step("stopping what is left of the run")
        left = deployment.stop(run.id, lost=True)
    board = confirmation.watcher.board
    ledger.close(run.id, verdict.kind, verdict.sentence, time.time(), **learned(verdict, board, run.started))
    return Report(run.plan, run.id, verdict, board, time.time() - began, left=tuple(left))


def _names(plan: Plan) -> str:
    return ", ".join(node.host.name for node in plan.nodes)
