"""A lab host as the inventory's Host, and further ways into it: a second sshd with other manners, other users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from roles.inventory import Host
from roles.lab.commands import need
from roles.lab.host import LabHost
from roles.lab.keys import known_hosts_line, public, sshd_config
from roles.lab.written import entry
from roles.remote import Remote
from tests.hosts.clone import eventually

SECOND = 2222
KEYS = "/run/allranks-lab"  # where a namespace host keeps its sshd's files


def inventory_host(host: LabHost, **changes: Any) -> Host:
    """The host as `inv lab.up` writes it down, with these fields changed (None takes one away)."""
    fields = {"name": host.name, **entry(host.folder, host), **changes}
    return Host(**{key: value for key, value in fields.items() if value is not None})


def facts(host: Host, **options: Any) -> dict[str, Any]:
    """One question to the on-host program, over a connection of its own; it is put there first where it is missing."""
    with Remote(host, **options) as remote:
        return remote.one("facts", {"workdir": host.workdir}, "facts")


@contextmanager
def second_sshd(host: LabHost, folder: Path, *more: str, without: str = "?") -> Iterator[dict[str, Any]]:
    """A second sshd on the host: lines `more` in place of those with their names, those named `without` left out.

    Gives what an inventory says of it: the port, and a known_hosts in `folder` that knows its key.
    """
    text = sshd_config(KEYS, port=SECOND, listen="0.0.0.0", pid_file="/run/second.pid")
    names = (*(line.split()[0] for line in more), without)
    config = "\n".join([*more, *(line for line in text.splitlines() if not line.startswith(names))]) + "\n"
    shell(host, "cat >/run/second.conf", text=config)
    shell(host, f"rm -f /run/second.pid; {need('sshd')} -f /run/second.conf -E /var/log/second.log")
    # It goes into the background before it listens, and writes its pid down after.
    eventually(lambda: host.exec(["test", "-s", "/run/second.pid"]).returncode == 0)
    known = folder / "known_hosts_second"
    known.write_text(known_hosts_line([host.address], SECOND, host.home / "host_key"))
    try:
        yield {"port": SECOND, "known_hosts": str(known)}
    finally:
        host.exec(["sh", "-c", "kill $(cat /run/second.pid)"])


def shell(host: LabHost, command: str, *, text: str | None = None) -> str:
    """A shell command as root on the host, without SSH."""
    done = host.exec(["sh", "-c", command], text=text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def add_user(host: LabHost, name: str, login_shell: str = "/bin/bash") -> None:
    """An ordinary user whom the lab's key lets in (by a second sshd: the first reads root's files only)."""
    shell(host, f"id {name} 2>/dev/null || useradd -m -p '*' -s {login_shell} {name}")
    shell(host, f"usermod -s {login_shell} {name}; install -d -m 700 -o {name} ~{name} ~{name}/.ssh")
    shell(host, f"cat >~{name}/.ssh/authorized_keys; chown {name} ~{name}/.ssh/*", text=public(host.folder.key) + "\n")


OWN_KEYS = "AuthorizedKeysFile .ssh/authorized_keys"  # for a second sshd that lets ordinary users in
