"""A run as found on its hosts -> its state in one word and one sentence. Pure; `inv status` shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roles.check.finding import described
from roles.inventory.errors import Lost, NeverUp, NotYet
from roles.server.standing import Standing, holder_of

EXIT_CODES = {
    "up": 0,
    "loading": NotYet.exit_code,
    "failed": NeverUp.exit_code,
    "unhealthy": Lost.exit_code,
    "lost": Lost.exit_code,
    "gone": Lost.exit_code,
    "stopped": 0,
}


@dataclass(frozen=True)
class State:
    """One word (a key of EXIT_CODES), why, and the ranks: labels of all and of those that live."""

    word: str
    sentence: str
    ranks: tuple[str, ...]
    living: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """What `inv status` ends with for it."""
        return EXIT_CODES[self.word]


def state_of(run: Standing) -> State:
    """Judge a run by what every host that answered said of it."""
    ranks = [(host, rank) for _, (host, summary) in sorted(run.nodes.items()) for rank in summary.get("ranks") or []]
    labels = tuple(str(rank["label"]) for _, rank in ranks)
    living = tuple(str(rank["label"]) for _, rank in ranks if rank.get("alive"))
    word, sentence = _judged(run, [(host, rank) for host, rank in ranks if not rank.get("alive")])
    if run.silent:
        sentence += f"; no answer from {', '.join(run.silent)}"
    return State(word, sentence, labels, living)


def _judged(run: Standing, dead: list[tuple[str, dict[str, Any]]]) -> tuple[str, str]:
    summaries = list(run.nodes.values())
    if all(summary.get("stopped") for _, summary in summaries):
        return "stopped", "stopped on request"
    if run.over:
        return "gone", f"its part on {', '.join(run.over)} is stopped already; inv teardown ends the rest"
    was_up = run.up is not None
    ended = "lost" if was_up else "failed"
    if crash := next(((host, s["crash"]) for host, s in summaries if s.get("crash")), None):
        from roles.watch.deaths import signal_name  # with all the tables of logs, 25 ms

        host, rank = crash
        by = f"killed by {signal_name(int(rank['signal']))}, " if rank.get("signal") else ""
        who = f"{rank.get('label') or 'the main process'} on {host} died ({by}pid {rank.get('pid')})"
        return ended, f"{_before(was_up)}{who}{_and_so_did(rank, dead)}"
    if (status := next(((host, s) for host, s in summaries if s.get("exit") is not None), None)) is not None:
        host, summary = status
        return ended, f"{_before(was_up)}the server on {host} ended with status {summary['exit']}"
    if vanished := [host for host, summary in summaries if not summary.get("alive")]:
        restarted = " (the host was restarted)" if any(s.get("rebooted") for _, s in summaries) else ""
        return "gone", f"no process is left on {', '.join(vanished)}{restarted}"
    head_host, head = run.nodes[min(run.nodes)]
    holder = holder_of(head)
    if holder and not holder.get("ours"):
        return ended, f"its port on {head_host} is held by {described(holder)}"
    if not was_up:
        return (
            "loading",
            f"{len(dead)} of its ranks not seen yet" if dead else "every rank process is there; not up yet",
        )
    if dead:
        return "lost", _before(True) + ", ".join(f"{rank['label']} on {host} is gone" for host, rank in dead)
    health = head.get("health")
    if health is not None and health != 200:
        return "unhealthy", f"every rank is alive, but /health on {head_host} answers {health or 'nothing'}"
    return "up", "every rank is alive" + (", /health answers 200" if health == 200 else "")


def _and_so_did(rank: dict[str, Any], dead: list[tuple[str, dict[str, Any]]]) -> str:
    """Several ranks were gone at the first look and none said why: which began it is in the log alone."""
    others = [other["label"] for _, other in dead if other["label"] != rank.get("label")]
    if not others or rank.get("why") or not rank.get("label"):
        return ""
    return f", and so did {', '.join(others)}: inv logs --explain tells which was first"


def _before(was_up: bool) -> str:
    return "it was up, then " if was_up else "before it was up, "
