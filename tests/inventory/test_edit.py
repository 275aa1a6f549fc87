"""A key is put into a profile's file and nothing else in it changes; where that cannot be, the file is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from roles.inventory.edit import put
from roles.inventory.errors import InputError
from roles.inventory.files import read_profile

PROFILE = """\
# GLM on the big box
model: /m    # local

environment:
  # why this is here
  NCCL_DEBUG: INFO   # loud

flags:
  mem_fraction_static: 0.90
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "inventory/profiles").mkdir(parents=True)
    return tmp_path


def edited(root: Path, text: str, key: str, value: str) -> str:
    file = root / "inventory/profiles/p.yml"
    file.write_text(text)
    put(root, "p", key, value)
    return file.read_text()


def test_a_variable_goes_into_its_section_and_every_other_line_stays(root: Path) -> None:
    after = edited(root, PROFILE, "environment.no_proxy", "127.0.0.1,localhost")

    assert [line for line in after.splitlines() if "no_proxy" not in line] == PROFILE.splitlines()
    assert "  no_proxy: 127.0.0.1,localhost" in after.splitlines()


def test_a_value_that_is_there_is_replaced(root: Path) -> None:
    before = PROFILE.replace("  NCCL_DEBUG", "  no_proxy: a.example\n  NCCL_DEBUG")

    after = edited(root, before, "environment.no_proxy", "127.0.0.1,a.example")

    assert after == before.replace("no_proxy: a.example", "no_proxy: 127.0.0.1,a.example")


def test_a_section_that_is_not_there_is_made_at_the_end(root: Path) -> None:
    assert edited(root, "model: /m\n", "limits.nofile", "65536") == "model: /m\n\nlimits:\n  nofile: 65536\n"


def test_a_value_that_yaml_would_read_otherwise_is_quoted(root: Path) -> None:
    edited(root, PROFILE, "environment.no_proxy", "*, [::1]: #x")

    assert read_profile(root / "inventory/profiles/p.yml", "p").environment["no_proxy"] == "*, [::1]: #x"


@pytest.mark.parametrize(
    "text", ['{"model": "/m"}', "model: /m\nenvironment: {A: b}\n", "model: /m\nenvironment: &x\n  A: b\n"]
)
def test_a_file_of_another_shape_is_left_alone_and_said(root: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"environment.no_proxy: a there by hand"):
        edited(root, text, "environment.no_proxy", "a")

    assert (root / "inventory/profiles/p.yml").read_text() == text
    assert [path.name for path in (root / "inventory/profiles").iterdir()] == ["p.yml"]
