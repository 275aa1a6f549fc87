"""docs/security.md: the files on a host and who may read them, as a deployment really leaves them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roles.lab.host import LabHost
from tests.docs.pages import table
from tests.hosts import labs
from tests.hosts.clone import Clone

SECRET = "s3cr3t-v4lu3"


@pytest.mark.hosts
def test_every_file_on_the_page_is_there_with_its_mode_and_no_other(
    host: LabHost, hosts: list[LabHost], port: int, new_clone: Callable[[str], Clone]
) -> None:
    clone = new_clone("modes").hosts(hosts).profile("tiny-tp2pp2", port, secrets={"HF_TOKEN": "env:HF_TOKEN"})
    clone.environment["HF_TOKEN"] = SECRET
    home = labs.disk(host)

    clone.ok("deploy", "--host", "lab", "--profile", "tiny-tp2pp2")

    seen = set()
    for pattern, mode, _ in table("security.md", "modes"):
        found = list(home.glob(pattern.removeprefix("~/")))
        assert found, f"{pattern} is not on the host"
        assert {oct(path.stat().st_mode & 0o777) for path in found} == {oct(int(mode, 8))}, pattern
        seen |= set(found)
    folders = {path for path in (home / ".allranks").rglob("*") if path.is_dir()}
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in folders)
    others = {path for path in (home / ".allranks").rglob("*") if path.is_file()} - seen
    assert [path.name for path in others if path.name != "leases.lock"] == []


@pytest.mark.hosts
def test_a_secret_is_in_one_file_only_and_not_after_the_teardown(
    host: LabHost, hosts: list[LabHost], port: int, new_clone: Callable[[str], Clone]
) -> None:
    clone = new_clone("secret").hosts(hosts).profile("tiny-tp2pp2", port, secrets={"HF_TOKEN": "env:HF_TOKEN"})
    clone.environment["HF_TOKEN"] = SECRET
    work = labs.disk(host) / ".allranks"

    said = clone.ok("deploy", "--host", "lab", "--profile", "tiny-tp2pp2").said
    having = [path.name for path in work.rglob("*") if path.is_file() and SECRET in path.read_text(errors="replace")]
    clone.ok("teardown")
    after = [path.name for path in work.rglob("*") if path.is_file() and SECRET in path.read_text(errors="replace")]

    assert SECRET not in said
    assert having == ["secrets.env"]
    assert after == []
    assert not any(SECRET in path.read_text() for path in (clone.root / "runs").rglob("*") if path.is_file())
