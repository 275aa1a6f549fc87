"""Fixtures for every test that needs hosts: `lab` for hosts that may be shared, `bring_up` for a lab of one's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import roles.lab
from roles.inventory.errors import AllranksError
from roles.lab import LabHost
from roles.lab.kinds import decide

CLONE = Path(__file__).resolve().parents[2]
OPT = CLONE / ".lab/opt"  # the clone's SGLang install, when there is one; every lab sees it
SHARED_HOSTS = 4

BringUp = Callable[..., list[LabHost]]


def make(root: Path, hosts: int, kind: str) -> list[LabHost]:
    """A lab beneath `root`, or a skip that says why this machine cannot have one of that kind."""
    try:
        decide(kind)
    except AllranksError as error:
        pytest.skip(str(error))
    if kind == "namespace" and decide("auto")[0] != "namespace":
        pytest.skip(decide("auto")[1])
    roles.lab.up(root, hosts, kind, print, opt=OPT)
    return roles.lab.lab_hosts(root)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[LabHost]]:
    """Hosts lab1 to lab4, up for the whole run. A test that hurts one heals it again."""
    root = tmp_path_factory.mktemp("lab")
    root.chmod(0o755)
    yield make(root, SHARED_HOSTS, "namespace" if os.getuid() == 0 else "auto")
    roles.lab.down(root, print)


@pytest.fixture
def bring_up(tmp_path: Path) -> Iterator[BringUp]:
    """bring_up(hosts, kind, root=...) → its hosts; all that was brought up is taken down after the test."""
    roots: list[Path] = []

    def bring(hosts: int = 1, kind: str = "namespace", root: Path = tmp_path) -> list[LabHost]:
        roots.append(root)
        return make(root, hosts, kind)

    yield bring
    for root in roots:
        roles.lab.down(root, print)
