"""`inv deploy`: what it prints and ends with."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from roles.inventory.endpoint import url
from roles.inventory.errors import Different, Lost, NeverUp, NotYet
from roles.ledger import Ledger
from roles.plan import Plan
from roles.server.commands.routers import routers_of
from roles.server.deploy import Options, Report
from roles.server.deploy import deploy as carry_out
from roles.view import report as words
from roles.view.board import LiveBoard, PlainLines
from roles.view.console import ago, console, print_json
from roles.watch.effective import effective

NOT_UP = {
    "failed": NeverUp.exit_code,
    "foreign": NeverUp.exit_code,
    "lost": Lost.exit_code,
    "different": Different.exit_code,
    "stalled": NotYet.exit_code,
}


def run(root: Path, made: Plan, options: Options, *, json: bool) -> int:
    """Deploy a plan, show it, and end with 0 when it is up."""
    ledger, out = Ledger(root), console()
    options = replace(options, routers=routers_of(root, accept_new=options.accept_new))
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
        age = ago(time.time() - (report.already.up or began))
        out.print(f"{made.name} has been up for {age}, unchanged (run {report.run}); --restart starts it anew")
    else:
        _print_report(out, report, ledger, options)
    return 0 if report.up else NOT_UP[report.verdict.kind if report.verdict else "failed"]


def _print_report(out: Any, report: Report, ledger: Ledger, options: Options) -> None:
    assert report.verdict is not None and report.board is not None
    name = report.plan.name
    if report.up:
        head = report.plan.nodes[0]
        where = f"{url(head.host.address, head.port)} on {', '.join(report.plan.hosts)}"
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
        "url": url(head.host.address, head.port),
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
            "witnesses": list(verdict.witnesses),
            "missing": list(verdict.missing),
            "rewritten": list(verdict.rewritten),
            "differences": [str(difference) for difference in verdict.differences],
        },
        "effective": effective(report.board) if report.up and report.board else None,
        "left": list(report.left),
    }
