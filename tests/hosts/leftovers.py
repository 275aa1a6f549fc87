"""What a deployment has left on a lab host after its teardown, looked for from outside: nothing, if all is well."""

from __future__ import annotations

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.reach import shell

OWN = ("sshd", "inside.init")  # what runs on a lab host that was just booted
LISTENING = "0A"  # the state of a socket, as /proc/net/tcp writes it
FILES = {
    "leases": "find /dev/shm/allranks-leases 2>/dev/null",
    # files of the work folder that are renamed or removed when all goes well
    "temporary": "find /root/.allranks -name '*.new' -o -name '*.part' -o -name '.*-*' -o -name secrets.env",
    "shm": "find /dev/shm -mindepth 1 -not -path '*allranks-leases*'; tail -n +2 /proc/sysvipc/shm",
    "tmp": "find /tmp -mindepth 1",
}
Found = dict[str, set[str]]


def leftovers(host: LabHost) -> Found:
    """By kind, what is there as root sees it without allranks."""
    running = [" ".join(argv) for argv in seen.processes(host).values()]
    sockets = [row.split() for row in shell(host, "cat /proc/net/tcp /proc/net/tcp6").splitlines()]
    ports = {int(row[1].rpartition(":")[2], 16) for row in sockets if row[3] == LISTENING}
    return {
        "processes": {line for line in running if not any(own in line for own in OWN)},
        "ports": {str(port) for port in ports - {host.port}},
        **{kind: set(shell(host, f"{command}; true").splitlines()) for kind, command in FILES.items()},
    }


def since(before: Found, after: Found) -> dict[str, list[str]]:
    """What has come in between, by kind."""
    return {kind: sorted(after[kind] - before[kind]) for kind in after}
