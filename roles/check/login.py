"""The login: its shell, file transfer, clock, and whether what it starts outlives it."""

from __future__ import annotations

from collections.abc import Iterator

from roles.check.finding import Finding, Node

SESSIONS = 4  # on one connection: following, asking beside it, a file, and one to spare
SKEW = 30.0  # seconds between this clock and a host's before it is said


def look(node: Node) -> Iterator[Finding]:
    """Everything about the login."""
    facts = node.facts
    user = facts.get("user") or "?"
    yield node.ok("login", f"answers as {user}, Python {facts.get('python')}, kernel {facts.get('kernel')}")
    yield from _shell(node)
    sessions = facts.get("sessions")
    if sessions is not None and sessions + 1 < SESSIONS:
        what = (
            f"its sshd lets a connection have {sessions + 1} session{'s' if sessions else ''} at a time (MaxSessions)"
        )
        yield node.warning("sessions", what, "MaxSessions 10 (the default) in its sshd_config", str(SESSIONS))
    elif facts.get("sftp") is False and not facts.get("shell_noise"):
        do = "nothing: allranks does without it; for scp enable `Subsystem sftp` in sshd_config"
        yield node.warning("sftp", "its sshd has no SFTP subsystem", do)
    if facts.get("kill_user_processes"):
        what = "systemd ends every process of this user when its last login ends (KillUserProcesses=yes)"
        yield node.refusal("outlives", what, f"as root there: loginctl enable-linger {user}")
    else:
        yield node.ok("outlives", "what is started goes on after the login ends")
    yield _clock(node)


def _shell(node: Node) -> Iterator[Finding]:
    noise = node.facts.get("shell_noise") or []
    if noise:
        lines = "a line" if len(noise) == 1 else f"{len(noise)} lines"
        broken = ", which breaks SFTP" if node.facts.get("sftp") is False else ""
        what = f"its login shell prints {lines} without being asked ({str(noise[0])[:80]!r}){broken}"
        do = "move that behind `[[ $- == *i* ]]` in .bashrc (allranks copes, scp and rsync may not)"
        yield node.warning("shell", what, do)
    if node.facts.get("bash") is False:
        yield node.refusal("shell", "there is no bash", "install bash: the launch script is written for it")


def _clock(node: Node) -> Finding:
    skew = float(node.facts["t"]) - node.now
    if abs(skew) > SKEW:
        return node.warning("clock", f"its clock is {skew:+.0f} s from this machine's", "set it (NTP)")
    return node.ok("clock", f"within {SKEW:.0f} s of this machine's")
