"""The lab's tests find their fixtures whether or not the whole suite is run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from roles.lab import LabHost
from tests.lab.fixtures import bring_up, lab

__all__ = ["bring_up", "lab", "ssh"]

Ssh = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ssh() -> Ssh:
    """ssh(host, command) by the real client and the lab's own ssh_config."""

    def run(host: LabHost, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        argv = ["ssh", "-F", str(host.folder.ssh_config), "-o", "ConnectTimeout=3", *options, host.name, command]
        return subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)

    return run
