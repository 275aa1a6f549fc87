"""Test processes make their labs at the same time: each must get a network of its own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roles.lab.folder import Folder
from roles.lab.kinds import decide
from roles.lab.network import Network, choose

pytestmark = pytest.mark.hosts


@pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user's lab has its bridge in a namespace of its own")
def test_labs_that_come_up_at_once_take_different_networks(tmp_path: Path) -> None:
    if decide("auto")[0] != "namespace":
        pytest.skip(decide("auto")[1])
    folders = [Folder.of(tmp_path / str(number)) for number in range(6)]
    chosen: list[Network] = []
    try:
        with ThreadPoolExecutor(6) as pool:
            chosen = list(pool.map(choose, folders))
        assert len({network.octet for network in chosen}) == 6
    finally:
        for network in chosen:
            network.take_away()
