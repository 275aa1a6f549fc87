"""What each command of tasks.py does and prints, and the exit code it ends with."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roles.inventory import Inventory, Rank, load
from roles.inventory.errors import AllranksError, Different, InputError, Lost, NeverUp, NotYet
from roles.ledger import Ledger
from roles.plan import Plan, plan_for
from roles.server import logs as log_story
from roles.server.deploy import Options, Report
from roles.server.deploy import deploy as carry_out
from roles.server.standing import Standing, port_of
from roles.server.state import State, state_of
from roles.server.target import Hosts, distinct, meant, one_run
from roles.server.teardown import teardown as take_down
from roles.view.console import ago, choose, console, print_json
from roles.view.status import Row, render

NOT_UP = {
    "failed": NeverUp.exit_code,
    "foreign": NeverUp.exit_code,
    "lost": Lost.exit_code,
    "different": Different.exit_code,
    "stalled": NotYet.exit_code,
}


def plan(root: Path, host: str | None, profile: str | None, overrides: Sequence[str]) -> Plan:
    """The plan of these arguments. Raises: InputError, naming what there is, when one is not given."""
    inventory = load(root)
    return plan_for(inventory.profile(profile or "", overrides), inventory.hosts(host or ""))


def deploy(root: Path, host: str | None, profile: str | None, options: Options, *, json: bool) -> int:
    """Deploy, show it, and end with 0 when it is up."""
    from roles.view.board import LiveBoard, PlainLines

    made, ledger, out = plan(root, host, profile, options.overrides), Ledger(root), console()
    screen = LiveBoard() if console(stderr=True).is_terminal and not json else PlainLines()
    began = time.time()
    try:
        with screen:
            report = carry_out(made, screen, ledger, options)
    except KeyboardInterrupt:
        hosts = ", ".join(made.hosts)
        print(
            f"\nallranks: stopped looking; the server on {hosts} was left as it is (inv status, inv teardown)",
            file=sys.stderr,
        )
        return 130
    if json:
        print_json(_report(report))
    elif report.already is not None:
        since = ago(time.time() - (report.already.up or began))
        out.print(f"{made.name} is up and unchanged since {since} (run {report.run}); --restart starts it anew")
    else:
        _print_report(out, report, ledger, options)
    return 0 if report.up else NOT_UP[report.verdict.kind if report.verdict else "failed"]


def _print_report(out: Any, report: Report, ledger: Ledger, options: Options) -> None:
    from roles.view import report as words

    assert report.verdict is not None and report.board is not None
    name = report.plan.name
    if report.up:
        head = report.plan.nodes[0]
        where = f"http://{head.host.address}:{head.port} on {', '.join(report.plan.hosts)}"
        words.up(out, name, where, report.run, report.verdict, report.board, report.seconds)
    else:
        record = str(ledger.path(report.run))
        words.not_up(out, name, report.run, report.verdict, record, report.left, kept=options.keep)


def _report(report: Report) -> dict[str, Any]:
    verdict, head = report.verdict, report.plan.nodes[0]
    return {
        "deployment": report.plan.name,
        "run": report.run,
        "up": report.up,
        "already": report.already is not None,
        "hosts": list(report.plan.hosts),
        "url": f"http://{head.host.address}:{head.port}",
        "seconds": round(report.seconds, 3),
        "verdict": None
        if verdict is None
        else {
            "kind": verdict.kind,
            "sentence": verdict.sentence,
            "rank": verdict.rank,
            "host": verdict.host,
            "cause": verdict.cause,
            "do": verdict.do,
            "evidence": list(verdict.evidence),
            "missing": list(verdict.missing),
            "differences": [str(difference) for difference in verdict.differences],
        },
        "left": list(report.left),
    }


def status(root: Path, host: str | None, name: str | None, *, every: bool, json: bool, accept_new: bool) -> int:
    """Every deployment on the hosts; ends with the worst state's exit code, 4 when a host did not answer."""
    inventory = load(root)
    if every:
        looked_at = distinct(inventory)
    else:
        looked_at, name = meant(inventory, Ledger(root), host, name, choose)
    with Hosts(inventory, looked_at, accept_new=accept_new) as hosts:
        runs = [
            run for run in hosts.runs(health=True) if not name or name == run.deployment or run.run.startswith(name)
        ]
    states = [state_of(run) for run in runs]
    silent = {host: str(error) for host, error in hosts.silent.items()}
    rows = [_row(run, state) for run, state in zip(runs, states, strict=True)]
    if json:
        print_json({"deployments": [row.as_dict() for row in rows], "silent": silent})
    else:
        render(console(), rows, silent, [host.name for host in looked_at], time.time())
    worst = max((state.exit_code for state in states), default=0)
    return worst or (max(error.exit_code for error in hosts.silent.values()) if hosts.silent else 0)


def _row(run: Standing, state: State) -> Row:
    head = run.head
    memory = {}
    for host, summary in run.nodes.values():
        if gpus := summary.get("gpu_memory"):
            used, total = (sum(gpu[key] or 0 for gpu in gpus) for key in ("used_mib", "total_mib"))
            memory[host] = f"{used:,} of {total:,} MiB"
    return Row(
        deployment=run.deployment,
        run=run.run,
        profile=run.profile,
        hosts=run.hosts,
        state=state.word,
        sentence=state.sentence,
        since=float(run.up or run.started) if state.word in ("up", "unhealthy") else run.started,
        ranks=len(state.ranks),
        living=len(state.living),
        missing=[label for label in state.ranks if label not in state.living],
        port=port_of(head),
        health=head.get("health"),
        memory=memory,
        who=str(head.get("who")),
    )


def _find(
    root: Path, host: str | None, name: str | None, *, accept_new: bool, ended: bool = False
) -> tuple[Inventory, Hosts, Standing]:
    """The one run that is meant, and its hosts (to be closed by the caller)."""
    inventory, ledger = load(root), Ledger(root)
    looked_at, name = meant(inventory, ledger, host, name, choose, ended=ended)
    hosts = Hosts(inventory, looked_at, accept_new=accept_new)
    try:
        runs = hosts.runs(ended=ended)
        if not runs and hosts.silent:
            raise next(iter(hosts.silent.values()))
        return inventory, hosts, one_run(runs, name, choose, list(hosts.silent))
    except BaseException:
        hosts.__exit__()
        raise


def logs(
    root: Path,
    host: str | None,
    name: str | None,
    *,
    rank: str | None,
    lines: int,
    follow: bool,
    since: str | None,
    json: bool,
    accept_new: bool,
) -> int:
    """Print the merged logs; with `follow` go on until Ctrl-C (0) or the server's end (0)."""
    from roles.view.logs import LogPrinter

    wanted = Rank.parse(rank) if rank else None
    if lines < 0:
        raise InputError(f"--lines {lines}: must be 0 (all) or more")
    after = log_story.since_epoch(since, time.time()) if since else None
    _, hosts, run = _find(root, host, name, accept_new=accept_new, ended=True)
    with hosts:
        labels = {Rank.parse(entry["label"]): entry["label"] for entry in _ranks(run)}
        if wanted is not None and wanted not in labels:
            raise InputError(f"{run.deployment} has no rank {rank}", do=f"its ranks: {', '.join(labels.values())}")
        printer = LogPrinter(console(), [h for h, _ in run.nodes.values()], labels.values(), as_json=json)
        reach = None if since or wanted is not None else (lines or None)
        entries, ends = log_story.last(hosts, run, lines=reach, since=after)
        chosen = list(log_story.of_rank(entries, wanted))
        for entry in chosen[-lines:] if lines and not since else chosen:
            _print(printer, entry, labels)
        if follow:
            following = log_story.follow(hosts, run, ends)
            try:
                for entry in log_story.of_rank(following, wanted):
                    _print(printer, entry, labels)
            except KeyboardInterrupt:
                print("\nallranks: stopped following; the server goes on", file=sys.stderr)
            finally:
                following.close()
    return 0


def _ranks(run: Standing) -> list[dict[str, Any]]:
    return [rank for _, summary in run.nodes.values() for rank in summary.get("ranks") or []]


def _print(printer: Any, entry: log_story.Entry, labels: dict[Rank, str]) -> None:
    if entry.line is None:
        printer.note(entry.host, entry.note)
        return
    line = entry.line
    label = labels.get(line.rank, "") if line.rank is not None else ""
    printer.line(entry.host, label, line.time or "", line.text, line.source)


def teardown(root: Path, host: str | None, name: str | None, *, json: bool, accept_new: bool) -> int:
    """Stop one deployment; 0 when nothing of it is left anywhere."""
    from roles.view import report as words

    _, hosts, run = _find(root, host, name, accept_new=accept_new)
    with hosts, words.Stopping(quiet=json) as progress:
        done = take_down(hosts, run, Ledger(root), progress.say)
    if json:
        trouble = {where: str(error) for where, error in done.trouble.items()}
        print_json({"deployment": run.deployment, "run": run.run, "nodes": done.nodes, "trouble": trouble})
    try:
        done.raise_unless_clean()
    except AllranksError as error:
        if not json:
            raise
        return error.exit_code
    if not json:
        words.stopped(console(), run.deployment, done.nodes, done.seconds)
    return 0
