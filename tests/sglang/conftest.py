"""Two lab hosts with the real SGLang, and a clone whose inventory knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from roles.lab.host import LabHost
from tests.hosts import labs
from tests.hosts.clone import Clone
from tests.sglang.real import OPT, with_profiles


@pytest.fixture(scope="session")
def real() -> Iterator[list[LabHost]]:
    """Two hosts, in their own namespaces where this machine can."""
    if not (OPT / "stamp").exists():
        pytest.skip("SGLang is not installed for the lab: make test installs it, or inv lab.up --sglang")
    with labs.made("sglang", 2, opt=OPT) as hosts:
        yield hosts


@pytest.fixture
def clone(new_clone: Callable[[str], Clone], real: list[LabHost]) -> Iterator[Clone]:
    """A clone with the committed profiles, and the two hosts as if just set up."""
    yield with_profiles(new_clone("real").hosts(real))
    labs.clean(real)
