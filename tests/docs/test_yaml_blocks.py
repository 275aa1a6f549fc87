"""The YAML on the pages is YAML that allranks takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from roles.inventory import load
from tests.docs.pages import PAGES, Block, blocks

MARKED = [block for page in PAGES for block in blocks(page) if block.language == "yaml"]


@pytest.mark.parametrize("block", MARKED, ids=str)
def test_a_yaml_block_loads(block: Block, tmp_path: Path) -> None:
    profiles = tmp_path / "inventory/profiles"
    profiles.mkdir(parents=True)
    is_hosts = block.text.lstrip().startswith("hosts:")
    (tmp_path / "inventory/hosts.yml").write_text(block.text if is_hosts else "hosts: {}\n")
    if not is_hosts:
        (profiles / "shown.yml").write_text(block.text)

    inventory = load(tmp_path)

    assert inventory.by_name if is_hosts else inventory.profile("shown", ()).model


def test_the_readme_shows_a_host_and_a_profile_that_make_a_plan(tmp_path: Path) -> None:
    from roles.plan import plan_for

    hosts, profile = [block for block in MARKED if block.page.name == "README.md"]
    (tmp_path / "inventory/profiles").mkdir(parents=True)
    (tmp_path / "inventory/hosts.yml").write_text(hosts.text)
    (tmp_path / "inventory/profiles/my-model.yml").write_text(profile.text)
    inventory = load(tmp_path)

    plan = plan_for(inventory.profile("my-model", ()), inventory.hosts("my-gpu-box"))

    assert [(seat.label, seat.gpu) for seat in plan.ranks] == [("TP0", 0), ("TP1", 1)]
