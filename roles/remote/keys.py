"""known_hosts -> yes or no. An unknown host key is refused, a changed one always."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeys

from roles.inventory.errors import Unreachable


def fingerprint(key: paramiko.PKey) -> str:
    """The key as OpenSSH shows it: `ed25519 SHA256:…`."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name().removeprefix('ssh-')} SHA256:{digest}"


@lru_cache(maxsize=16)
def _parsed(path: Path, changed: int) -> HostKeys:
    """Parse a known_hosts file once per content (its mtime in ns), however many hosts ask."""
    keys = HostKeys()
    keys.load(str(path))
    return keys


def known(path: Path) -> HostKeys:
    """The host keys in a file; none when there is no such file."""
    try:
        return _parsed(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return HostKeys()


def trust(client: paramiko.SSHClient, name: str, files: list[Path]) -> None:
    """Give the client the keys that the files hold for this one host (`address` or `[address]:port`)."""
    for path in files:
        for key_type, key in (known(path).lookup(name) or {}).items():
            client.get_host_keys().add(name, key_type, key)


class Refuse(paramiko.MissingHostKeyPolicy):
    """Refuse a host whose key is not known, saying how to look at it."""

    def __init__(self, host: str, known_hosts: Path) -> None:
        self.host, self.known_hosts = host, known_hosts

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        raise Unreachable(
            f"{self.host}: its host key ({fingerprint(key)}) is not in {self.known_hosts}",
            do=f"compare it there, then `ssh {hostname.strip('[]').split(']')[0]}` once, or --accept-new-host-key",
        )


class AcceptNew(paramiko.MissingHostKeyPolicy):
    """Take the key of a host never seen before and write it down; a changed key never comes here."""

    def __init__(self, known_hosts: Path) -> None:
        self.known_hosts = known_hosts

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        self.known_hosts.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = self.known_hosts.read_text() if self.known_hosts.exists() else ""
        glue = "" if not text or text.endswith("\n") else "\n"
        with self.known_hosts.open("a") as file:
            file.write(f"{glue}{hostname} {key.get_name()} {key.get_base64()}\n")
