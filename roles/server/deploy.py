"""The story of `inv deploy`: check, stop what it replaces, start, and wait until every rank has answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from roles import check
from roles.inventory.errors import AllranksError, NotYet, Refused, Unreachable
from roles.ledger import Ledger, Record
from roles.plan import Plan
from roles.plan.router import url_of
from roles.server import secrets
from roles.server.confirm import Confirmation, Observer
from roles.server.deployment import Deployment
from roles.server.learned import learned
from roles.server.router import Routers
from roles.server.run import Run, new_id
from roles.server.standing import Standing, holder_of, port_of
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
            _remember(ledger, run, options)
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
    in_the_way = _in_the_way(plan, standing, options)
    _checked(plan, facts, [old.run for old in (*mine, *in_the_way)], observer)
    for old in (*mine, *in_the_way):
        _all_here(plan, old)
    left = options.routers.leave(url_of(plan), observer.step) if options.routers and mine else []
    for old in (*mine, *in_the_way):
        _stop(deployment, old, observer)
        ledger.stop(old.run, f"stopped: run {run.id} took its place", time.time())
    observer.step(f"starting run {run.id}")
    _remember(ledger, run, options)
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
        _remember(ledger, run, options)
    confirmation = Confirmation(deployment, run, observer, ledger.path(run.id))
    try:
        verdict = confirmation.wait()
    except (KeyboardInterrupt, NotYet) as error:  # NotYet: the observer has waited as long as it was told to
        ledger.close(run.id, "detached", f"left loading ({error or 'Ctrl-C'})", time.time())
        raise
    left: list[str] = []
    ours = deployment.lease.ours  # else somebody else's run was only watched: theirs to clean up
    if verdict.kind in ("failed", "foreign", "different", "lost") and not options.keep and ours:
        observer.step("stopping what is left of the run")
        left = deployment.stop(run.id)
    board = confirmation.watcher.board
    ledger.close(run.id, verdict.kind, verdict.sentence, time.time(), **learned(verdict, board, run.started))
    return Report(run.plan, run.id, verdict, board, time.time() - began, left=tuple(left))


def _in_the_way(plan: Plan, standing: Sequence[Standing], options: Options) -> list[Standing]:
    """Other deployments of ours on the plan's ports or GPUs. Refused unless `replace` was asked for."""
    found = []
    for other in standing:
        if other.deployment == plan.name:
            continue
        for host, summary in other.nodes.values():
            node = next((node for node in plan.nodes if node.host.name == host), None)
            if node is None:
                continue
            gpus = set(summary.get("gpus") or ()) & set(node.gpus)
            if gpus or port_of(summary) in node.ports:
                what = f"GPU {', '.join(map(str, sorted(gpus)))}" if gpus else f"port {port_of(summary)}"
                found.append((other, host, what))
    if found and not options.replace:
        raise Refused(
            "\n".join(
                f"{host}: {what} belongs to the deployment {other.deployment} (run {other.run}, by "
                f"{other.head.get('who')}); inv teardown --name {other.deployment}, or --replace"
                for other, host, what in found
            )
        )
    return list({other.run: other for other, _, _ in found}.values())


def _all_here(plan: Plan, standing: Standing) -> None:
    """Refuse to replace a run that also has nodes on hosts this plan does not reach, before anything is stopped."""
    elsewhere = set(standing.hosts) - set(plan.hosts)
    if elsewhere:
        raise Refused(
            f"the run {standing.run} of {standing.deployment} also runs on {', '.join(sorted(elsewhere))}",
            do=f"inv teardown --name {standing.deployment}",
        )


def _stop(deployment: Deployment, standing: Standing, observer: Observer) -> None:
    """Stop a run that this deploy replaces. Raises: AllranksError when something of it is left."""
    observer.step(f"stopping run {standing.run} of {standing.deployment}")
    hosts = {host for host, _ in standing.nodes.values()}
    nodes = [node.node for node in deployment.plan.nodes if node.host.name in hosts]
    trouble = deployment.stop(standing.run, nodes)
    if trouble:
        raise AllranksError("\n".join(trouble))


def _remember(ledger: Ledger, run: Run, options: Options) -> None:
    """Write down that a run begins, and what its hosts are told to run."""
    plan = run.plan
    for node in plan.nodes:
        ledger.keep(run.id, f"node{node.node}.launch.sh", node.script)
    ledger.write(
        Record(
            run=run.id,
            deployment=plan.name,
            profile=plan.profile.name,
            hosts=tuple(node.host.name for node in plan.nodes),
            by=run.by,
            started=run.started,
            result="loading",
            plan_hash=plan.hash,
            overrides=options.overrides,
        )
    )


def _names(plan: Plan) -> str:
    return ", ".join(node.host.name for node in plan.nodes)
