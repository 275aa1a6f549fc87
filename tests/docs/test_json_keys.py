"""The tables of --json keys name what the commands really print (on lab hosts, with a stand-in for SGLang)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from roles.lab.host import LabHost
from tests.docs.pages import table
from tests.hosts.clone import Clone


def keys(page: str, name: str = "json") -> set[str]:
    """The keys in the first column of a table; `a`, `b` in one cell are two."""
    return {key.strip(" `") for row in table(page, name) for key in row[0].split(",")}


@pytest.mark.hosts
def test_the_keys_of_a_plan_and_of_a_check_are_on_their_pages(clone: Clone) -> None:
    where = ("--host", "lab", "--profile", "small", "--json")

    show, check = clone.ok("show", *where).json, clone.inv("check", *where, "--fix", "--yes").json

    assert set(show) | {"nodes"} == keys("show.md")  # `nodes` stands there with several
    assert set(check) == keys("check.md")


@pytest.mark.hosts
def test_every_key_of_every_json_answer_is_on_its_page(
    hosts: list[LabHost], port: int, new_clone: Callable[[str], Clone]
) -> None:
    clone = new_clone("json").hosts(hosts).profile("tiny-tp2pp2", port)

    deploy = clone.ok("deploy", "--host", "lab", "--profile", "tiny-tp2pp2", "--json").json
    status = clone.ok("status", "--json").json
    logs = [json.loads(line) for line in clone.ok("logs", "--json").out.splitlines()]
    teardown = clone.ok("teardown", "--json").json
    history, report = (clone.ok(verb, "--json").json for verb in ("history", "report"))

    assert set(deploy) == keys("deploy.md")
    assert set(deploy["verdict"]) == keys("deploy.md", "verdict")
    assert set(status) == {"deployments", "silent"}
    assert _keys(status["deployments"]) == keys("status.md")
    assert _keys(logs) == keys("logs.md")
    assert set(teardown) == keys("teardown.md")
    assert _keys(history["runs"]) == keys("history.md")
    assert _keys(report["deployments"]) == keys("history.md", "report json")


def _keys(rows: list[dict[str, Any]]) -> set[str]:
    assert rows
    return {key for row in rows for key in row}
