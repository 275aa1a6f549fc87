"""Rules about a server of which no process is left: told to stop, failed by its own account, or ended from outside."""

from __future__ import annotations

from collections.abc import Iterator

from roles.watch.case import Case
from roles.watch.finding import Finding, memory
from roles.watch.witness import clock

OUTSIDE = "ask who or what ended it: the kernel's log, a job manager, a person, a restart of the host"


def ended(case: Case) -> Iterator[Finding]:
    """No process is left: told to stop, crashed by its own account, or ended from outside without a word."""
    if case.alive or not case.nodes:
        return
    head, told = case.head, case.explained
    exit_code = head.told.get("exit")
    status = f", its status was {exit_code}" if exit_code is not None else ""
    if told.kind == "stopped":
        sentence = (
            f"it was told to stop, by a signal from outside (log, {clock(head.last_stamp)}); nothing was wrong with it"
        )
        yield Finding("told-to-stop", "bad", sentence, "ask who stopped it")
    elif told.verdict.id and told.verdict.id != "shell-says":  # the shell's word for 137 says no more than 137
        yield Finding(told.verdict.id, "bad", f"{told.verdict.sentence}{status}", told.verdict.do)
    elif case.was_up:
        serving = "ends in served requests" if head.ends_serving else "ends without a complaint"
        sentence = (
            f"log {serving} at {clock(head.last_stamp)}, no process, {memory(head)}: stopped from outside, not crashed"
        )
        yield Finding("stopped-from-outside", "bad", sentence + status, OUTSIDE)
    else:
        at = f" at {clock(head.last_stamp)}" if head.last_stamp else ""
        sentence = (
            f"log ends{at} while loading, without a complaint, no process, {memory(head)}: ended from outside{status}"
        )
        yield Finding("ended-loading", "bad", sentence, OUTSIDE)
