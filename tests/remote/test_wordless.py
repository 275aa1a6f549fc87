"""Exceptions that have no words of their own (EOFError has none) still make a whole sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from roles.inventory import Host
from roles.inventory.errors import Unreachable
from roles.remote import Remote
from roles.remote.explain import Place, explained

PLACE = Place(
    name="a",
    where="10.0.0.1:22",
    address="10.0.0.1",
    user=None,
    key="",
    known="k",
    jumped=False,
    proxy=None,
    timeout=10,
)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (EOFError(), "a: 10.0.0.1:22 closed the connection before SSH began (end of file)"),
        (ConnectionResetError("reset"), "a: 10.0.0.1:22 closed the connection before SSH began (reset)"),
        (OSError(), "a: no SSH connection to 10.0.0.1:22: OSError"),
    ],
)
def test_one_that_ends_a_connection_in_the_making(error: Exception, sentence: str) -> None:
    assert str(explained(PLACE, error, 0.1)) == sentence


@pytest.mark.parametrize(("error", "why"), [(EOFError(), "closed"), (OSError("no route"), "no route")])
def test_one_that_ends_an_open_connection(monkeypatch: pytest.MonkeyPatch, error: Exception, why: str) -> None:
    def fails(**_: Any) -> None:
        raise error

    remote = Remote(Host(name="a"))
    monkeypatch.setattr(remote, "connection", lambda: SimpleNamespace(transport=SimpleNamespace(open_session=fails)))
    with pytest.raises(Unreachable) as told:
        remote.channel()
    assert str(told.value) == f"a: connection lost: {why}"
