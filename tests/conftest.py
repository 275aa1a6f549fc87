"""Fixtures that need a real sshd. A lab is made when the first test asks for it, once for each test process."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roles.inventory.errors import InputError
from roles.lab.host import LabHost
from tests.hosts import labs
from tests.hosts.clone import Clone

HOSTS = 3
_ports = itertools.count(31100 + 400 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]))


def pytest_configure() -> None:
    """End as by Ctrl-C when told to end: the labs are taken down."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


@pytest.fixture(scope="session")
def _lab() -> Iterator[list[LabHost]]:
    try:
        with labs.made("standin", HOSTS) as hosts:
            yield hosts
    except InputError as error:  # no sshd, or not Linux
        pytest.skip(str(error))


@pytest.fixture
def hosts(_lab: list[LabHost]) -> Iterator[list[LabHost]]:
    """Three lab hosts, each as one that was just set up."""
    yield _lab
    labs.clean(_lab)


@pytest.fixture
def host(hosts: list[LabHost]) -> LabHost:
    """The first of them, `lab` to the inventory."""
    return hosts[0]


@pytest.fixture
def linked(hosts: list[LabHost]) -> list[LabHost]:
    """Hosts with a network of their own, whose link can be cut and whose disk can be mounted on."""
    if hosts[0].record.kind == "loopback":
        pytest.skip("hosts of kind loopback share this machine's network and mounts")
    return hosts


@pytest.fixture
def port() -> int:
    """A port that no other test uses."""
    return next(_ports)


@pytest.fixture
def new_clone(tmp_path: Path) -> Iterator[Callable[[str], Clone]]:
    """Makes fresh clones by name; what they left running is ended."""
    made: list[Clone] = []

    def new(name: str) -> Clone:
        made.append(Clone(tmp_path / name).make())
        return made[-1]

    yield new
    for clone in made:
        clone.close()


@pytest.fixture
def clone(new_clone: Callable[[str], Clone], hosts: list[LabHost], port: int) -> Clone:
    """A clone whose inventory has the lab's hosts, and the profile `small` (tp 2 x pp 2 of the stand-in)."""
    return new_clone("clone").hosts(hosts).profile("small", port)
