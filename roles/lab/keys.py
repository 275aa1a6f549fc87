"""The lab's own SSH: one client key, a key per host, and what each sshd is told."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from roles.inventory.errors import InputError
from roles.lab.commands import need, run
from roles.lab.record import write

SFTP_SERVERS = (
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/lib/ssh/sftp-server",
    "/usr/libexec/sftp-server",
)
PENALTIES_SINCE = (9, 8)  # older sshd do not know PerSourcePenalties and would refuse to start


def make_key(path: Path, comment: str) -> None:
    """An ed25519 key pair at `path`, unless it is there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        run([need("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])


def public(path: Path) -> str:
    """Type and key of the pair at `path`, without the comment."""
    return " ".join(Path(f"{path}.pub").read_text().split()[:2])


def known_hosts_line(names: Sequence[str], port: int, key: Path) -> str:
    """A known_hosts line; sshd(8) writes a port other than 22 as [name]:port."""
    spelled = names if port == 22 else [f"[{name}]:{port}" for name in names]
    return f"{','.join(spelled)} {public(key)}\n"


def sshd_config(folder: str, *, port: int, listen: str, pid_file: str, more: Sequence[str] = ()) -> str:
    """The configuration of a host whose keys lie in `folder` (a path as that host sees it)."""
    lines = [
        *more,  # first, since sshd keeps the first value it reads
        f"Port {port}",
        f"ListenAddress {listen}",
        f"PidFile {pid_file}",
        f"HostKey {folder}/host_key",
        f"AuthorizedKeysFile {folder}/authorized_keys",
        f"Subsystem sftp {sftp_server()}",
        "PubkeyAuthentication yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        "UsePAM no",
        "StrictModes no",  # a clone may lie in a folder that others can write
        "UseDNS no",
        "PrintMotd no",
        "PrintLastLog no",
        "MaxStartups 500:30:1000",  # a fleet connects at once
        "MaxSessions 100",
    ]
    if sshd_version() >= PENALTIES_SINCE:
        lines.append("PerSourcePenalties no")  # tests connect and fail on purpose, all from one address
    return "\n".join(lines) + "\n"


def sftp_server() -> str:
    for path in SFTP_SERVERS:
        if Path(path).exists():
            return path
    raise InputError("the lab needs OpenSSH's sftp-server, which is not on this machine", do="install openssh-server")


def sshd_version() -> tuple[int, int]:
    """OpenSSH's version; `sshd -V` is an unknown option before 9.2, but prints it all the same."""
    said = subprocess.run([need("sshd"), "-V"], capture_output=True, text=True, check=False)
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", said.stderr + said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def write_config(home: Path, text: str, client: Path) -> None:
    """Put configuration, host key and the client's public key where the host's first process takes them from."""
    make_key(home / "host_key", home.name)
    write(home / "sshd_config", text)
    write(home / "authorized_keys", public(client) + " lab\n")
