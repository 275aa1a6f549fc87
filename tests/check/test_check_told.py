"""inv check as a story: a host that is lost half way, what --fix says when it changed something or was broken off."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roles.check.finding import Finding
from roles.check.fixes import Fix
from roles.inventory import load
from roles.lab.host import LabHost
from roles.plan import plan_for
from roles.server.check import check
from roles.server.commands import check as command
from roles.server.deployment import Deployment
from roles.server.fix import Fixed
from roles.view.check import summary
from tests.check.test_asked import plan
from tests.hosts.clone import Clone

FOUND = [Finding("ok", "ssh", "a", "well")]
FIXES = [Fix("folder", "folders", "a", f"make /{name}", f"/{name}") for name in ("one", "two")]


@pytest.mark.hosts
def test_a_host_that_is_lost_after_its_facts_is_a_finding_and_the_other_is_reported(
    clone: Clone, hosts: list[LabHost], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone.profile("pair", port, layout={"tp": 2, "pp": 2, "nnodes": 2}, dist_port=port + 200)
    inventory = load(clone.root)
    made = plan_for(inventory.profile("pair", ()), inventory.hosts("lab,lab2"))
    ask = Deployment.ask

    def then_lost(deployment: Deployment, **more: Any) -> Any:
        told = ask(deployment, **more)
        hosts[1].crash()
        return told

    monkeypatch.setattr(Deployment, "ask", then_lost)
    try:
        checked = check(made)
    finally:
        hosts[1].boot()

    refused = [(each.topic, each.host) for each in checked.findings if each.level == "refusal"]
    assert ("ssh", "lab2") in refused and checked.exit_code == 4
    assert any(each.host == "lab" and each.topic == "sglang" for each in checked.findings)


def test_only_a_check_that_changed_nothing_says_so() -> None:
    assert summary("d", FOUND, 1.0) == "d can be deployed: nothing but ok (1.0 s); nothing was changed"
    assert summary("d", FOUND, 1.0, changed=True) == "d can be deployed: nothing but ok (1.0 s)"


def test_with_json_a_person_sees_what_would_be_done_before_being_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "interactive", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))

    assert not command._may(FIXES, False, shown=False)

    out, err = capsys.readouterr()
    assert out == "" and "make /one" in err and err.index("make /two") < err.index("do these 2? [y/N]")


def test_what_was_done_before_ctrl_c_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken_off(*_: object, **__: object) -> Iterator[Fixed]:
        yield Fixed(FIXES[0], True)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "carry_out", broken_off)

    with pytest.raises(KeyboardInterrupt):
        command._done(Path(), plan(), FIXES, False)

    err = capsys.readouterr().err
    assert "done      a: make /one" in err and "broken off: 1 of 2 may not be done" in err
