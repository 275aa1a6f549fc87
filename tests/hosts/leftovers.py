"""What a deployment has left on a lab host after its teardown, counted from outside: nothing, if all is well."""

from __future__ import annotations

from dataclasses import dataclass, fields

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.reach import shell

OWN = ("sshd", "inside.init")  # what runs on a lab host that was just booted
LISTEN = "0A"  # the state of a listening socket, as /proc/net/tcp writes it
TEMPORARY = (
    r"find /root/.allranks -name '*.new' -o -name '*.part' -o -name '.*-*' -o -name secrets.env 2>/dev/null | wc -l"
)


@dataclass(frozen=True)
class Leftovers:
    """Counts of what should not be there."""

    processes: int
    ports: int
    leases: int
    temporary: int  # files of the work folder that are renamed or removed when all goes well
    shm: int  # files in /dev/shm and System V segments
    tmp: int  # files in /tmp

    @property
    def any(self) -> bool:
        """Whether there is anything."""
        return any(getattr(self, field.name) for field in fields(self))


def leftovers(host: LabHost) -> Leftovers:
    """Look at the host as root, without allranks."""
    shm = shell(
        host, "find /dev/shm -mindepth 1 -not -path '*allranks-leases*' | wc -l; tail -n +2 /proc/sysvipc/shm | wc -l"
    )
    return Leftovers(
        processes=sum(not any(own in " ".join(argv) for own in OWN) for argv in seen.processes(host).values()),
        ports=len(listening(host) - {host.port}),
        leases=int(shell(host, "find /dev/shm/allranks-leases 2>/dev/null | wc -l")),
        temporary=int(shell(host, TEMPORARY)),
        shm=sum(map(int, shm.split())),
        tmp=int(shell(host, "find /tmp -mindepth 1 | wc -l")),
    )


def listening(host: LabHost) -> set[int]:
    """The TCP ports that somebody listens on there."""
    rows = shell(host, "cat /proc/net/tcp /proc/net/tcp6").splitlines()
    sockets = [row.split() for row in rows if " " + LISTEN + " " in row]
    return {int(words[1].rpartition(":")[2], 16) for words in sockets}
