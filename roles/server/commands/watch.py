"""`inv watch`: what it prints and ends with."""

from __future__ import annotations

import json as text
import sys
import time
from pathlib import Path

from roles.inventory.errors import AllranksError, InputError, Lost, NeverUp
from roles.ledger import Ledger
from roles.server.commands.find import Sought
from roles.server.learned import blamed
from roles.server.standing import Standing
from roles.server.state import State, state_of
from roles.server.target import Hosts
from roles.server.teardown import teardown
from roles.server.watch import Watch, keep_logs
from roles.view import report as words
from roles.view.watching import Changes
from roles.watch import Verdict


def run(root: Path, sought: Sought, *, keep: bool, json: bool) -> int:
    """Watch until it is lost: 6 (5 when it never was up). Ctrl-C: 130, and the server goes on."""
    hosts, found = sought.hosts, sought.run()
    ledger, screen = Ledger(root), Changes(found.deployment, as_json=json)
    with hosts:
        try:
            verdict = _watched(hosts, found, screen, ledger.path(found.run))
        except KeyboardInterrupt:
            print("\nallranks: stopped watching; the server goes on", file=sys.stderr)
            return 130
        screen.end(verdict)
        return _after(hosts, found, verdict, ledger, screen, keep=keep, json=json)


def _watched(hosts: Hosts, found: Standing, screen: Changes, folder: Path) -> Verdict:
    state = state_of(found)
    if state.word == "stopped":
        raise InputError(f"{found.deployment} was stopped (run {found.run})", do="inv deploy")
    if state.word in ("lost", "gone", "failed"):
        return _at_once(state, found)
    watch = Watch(hosts, found, screen, folder)
    silent = f"; no answer from {', '.join(found.silent)}" if found.silent else ""
    ranks = len(watch.watcher.board.ranks)
    screen.step(f"watching {ranks} ranks on {', '.join(found.hosts)} (run {found.run}), now: {state.word}{silent}")
    return watch.until_lost()


def _at_once(state: State, found: Standing) -> Verdict:
    missing = [f"{label}: gone" for label in state.ranks if label not in state.living]
    return Verdict("lost" if found.up else "failed", state.sentence, missing=missing)


def _after(
    hosts: Hosts, found: Standing, verdict: Verdict, ledger: Ledger, screen: Changes, *, keep: bool, json: bool
) -> int:
    """Evidence first, then what is left of it is stopped, unless it is to be kept."""
    folder = ledger.path(found.run)
    unread = keep_logs(hosts, found, folder)
    screen.step(f"logs: {folder}" + "".join(f"; not that of {host}: {why}" for host, why in unread.items()))
    left: list[str] = []
    if keep:
        screen.step("what is left of it is left as it is (--keep-on-loss)")
    else:
        with words.Stopping(quiet=json) as progress:
            done = teardown(hosts, found, ledger, progress.say, lost=True)
        left = [str(error) for error in done.trouble.values()]
        screen.step("; ".join(["NOT all of it could be stopped", *left]) if left else "what was left of it is stopped")
    ledger.close(found.run, verdict.kind, verdict.sentence, time.time(), **blamed(verdict))
    code: type[AllranksError] = Lost if verdict.kind == "lost" else NeverUp
    if json:
        keys = ("kind", "id", "sentence", "rank", "host", "cause", "do", "witnesses", "evidence")
        print(text.dumps({**{key: getattr(verdict, key) for key in keys}, "left": left}))
    return code.exit_code
