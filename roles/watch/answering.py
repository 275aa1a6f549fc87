"""Rules about who answers: the host by SSH, the server on its port, its health."""

from __future__ import annotations

from collections.abc import Iterator

from roles.watch.case import Case
from roles.watch.finding import Finding


def unanswered(case: Case) -> Iterator[Finding]:
    """Hosts that could not be asked."""
    for host, why in case.silent.items():
        yield Finding("no-answer", "bad", f"{host} did not answer: {why}", "what runs there goes on by itself")


def stranger(case: Case) -> Iterator[Finding]:
    """The port belongs to somebody else: what answers there is not this server."""
    for witness in case.nodes:
        holder = witness.holder
        if holder is None or holder.get("ours"):
            continue
        user = f" of {holder['user']}" if holder.get("user") else ""
        ready = "ready in the log, but " if case.explained.board.ready_at is not None else ""
        who = f"pid {holder.get('pid')}{user} ({holder.get('cmdline') or 'its command may not be seen'})"
        sentence = f"{ready}port {witness.port} on {witness.host} belongs to {who}, not to this server"
        yield Finding("foreign-port", "bad", sentence, "stop that process, or use another port")


def nobody_listens(case: Case) -> Iterator[Finding]:
    """Ready once, main alive, and the port is free."""
    head = case.head
    if head.node == 0 and case.was_up and head.main is not None and head.port and head.holder is None:
        sentence = f"main lives (pid {head.main}), but nobody listens on port {head.port} of {head.host}"
        yield Finding("not-listening", "bad", sentence, "inv logs --explain; then deploy anew")


def unhealthy(case: Case) -> Iterator[Finding]:
    """It served, every process lives, and /health is not 200."""
    head = case.head
    listening = head.holder is not None and head.holder.get("ours")
    if head.node or not (case.was_up and listening) or head.told.get("health") == 200 or case.gone:
        return
    answer = head.told.get("health") or f"nothing within {head.told.get('health_seconds') or 0:.0f} s"
    busy = [seen.name for seen in case.ranks if seen.row and (seen.row.get("cpu") or 0) > 0.9]
    spins = f"; {', '.join(busy)} use a whole core: they spin while they wait for another one" if busy else ""
    sentence = f"every process lives, but /health on {head.host} answers {answer}{spins}"
    yield Finding(
        "unhealthy", "bad", sentence, "a long prefill does this for seconds; a rank or node that hangs for good"
    )
