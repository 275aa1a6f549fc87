"""Many connections at once: none sees what Fabric wrote down for another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from roles.inventory import Host
from roles.inventory.errors import Unreachable
from roles.remote import connect


@pytest.fixture
def jumpy() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("jumpy")
def test_many_hosts_that_refuse_are_each_told_in_their_own_words() -> None:
    def refused(number: int) -> str:
        host = Host.model_validate({"name": f"h{number}", "address": "127.0.0.1", "port": 9, "user": "nobody"})
        with pytest.raises(Unreachable) as told:
            connect.open_connection(host, timeout=2)
        return str(told.value).split(":")[0]

    connect.ssh_config.cache_clear()
    with ThreadPoolExecutor(30) as pool:
        assert list(pool.map(refused, range(120))) == [f"h{number}" for number in range(120)]
