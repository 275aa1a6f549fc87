"""A lab host with what a deploy wants to find there, and an inventory for it: no SGLang, a server of a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roles.inventory import Host
from roles.lab.host import LabHost
from tests.hosts.reach import inventory_host, shell
from tests.performance.bench import PROFILE

SITE = "/root/server/lib/python3.11/site-packages/sglang-0.5.23.dist-info"


def furnished(lab: LabHost, server: str, **files: str) -> None:
    """A model's folder, a `python` that is the server, and files beside it."""
    shell(lab, f"mkdir -p /root/model /root/server/bin {SITE}")
    for name, text in {"bin/python": server, **files}.items():
        shell(lab, f"cat >/root/server/{name}; chmod 755 /root/server/{name}", text=text)


def inventory(root: Path, **more: Any) -> None:
    """The profile `bench`; hosts are given by hand."""
    (root / "inventory/profiles").mkdir(parents=True)
    (root / "inventory/hosts.yml").write_text("hosts: {}\ngroups: {}\n")
    (root / "inventory/profiles/bench.yml").write_text(
        PROFILE + "".join(f"{key}: {value}\n" for key, value in more.items())
    )


def host_of(lab: LabHost, **changes: Any) -> Host:
    """The host for that profile."""
    return inventory_host(lab, venv="/root/server", **changes)
