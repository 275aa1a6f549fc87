"""The files of this repository: that they are right, that schemas and documentation follow the models."""

import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from roles.inventory import load
from roles.inventory.files import HostsFile
from roles.inventory.profile import Profile
from roles.inventory.schema import FOLDER, MODELS, rendered, schema, write
from roles.inventory.tables import PAGE, filled

ROOT = Path(__file__).resolve().parents[2]
PROFILES = sorted((ROOT / "inventory/profiles").glob("*.yml"))
FILES = [(ROOT / "inventory/hosts.yml", "hosts"), *((file, "profile") for file in PROFILES)]


def as_an_editor_reads(file: Path) -> Any:
    """YAML with text keys, as JSON schema knows no others."""
    return _text_keys(yaml.safe_load(file.read_text()))


def _text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _text_keys(inner) for key, inner in value.items()}
    return value


@pytest.mark.parametrize("name", MODELS)
def test_the_schemas_are_those_of_the_models(name: str) -> None:
    """Written anew by: python -m roles.inventory.schema"""
    assert (ROOT / FOLDER / f"{name}.schema.json").read_text() == rendered(name)


def test_schemas_are_written_below_any_folder(tmp_path: Path) -> None:
    write(tmp_path)

    assert (tmp_path / FOLDER / "hosts.schema.json").read_text() == rendered("hosts")


@pytest.mark.parametrize(("file", "name"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_each_file_names_its_schema_and_keeps_to_it(file: Path, name: str) -> None:
    first = file.read_text().splitlines()[0]
    named = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)

    assert named is not None
    assert (file.parent / named[1]).resolve() == ROOT / FOLDER / f"{name}.schema.json"
    jsonschema.validate(as_an_editor_reads(file), schema(MODELS[name], name))


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (HostsFile, {"hosts": {"a": {"kynd": "lxc"}}}),
        (HostsFile, {"hosts": {"a": {"name": "b"}}}),
        (HostsFile, {"hosts": {"a": {"address": "-oProxyCommand=x"}}}),
        (HostsFile, {"hosts": {"a": {"port": "22"}}}),
        (HostsFile, {"hosts": {"-a": {}}}),
        (Profile, {}),
        (Profile, {"model": "m", "layout": {"tpp": 2}}),
        (Profile, {"model": "m", "environment": {"1A": 1}}),
        (Profile, {"model": "m", "secrets": {"A": "hunter2"}}),
    ],
)
def test_the_schemas_refuse_what_the_models_refuse(model: Any, wrong: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema(model, "x"))


@pytest.mark.parametrize("name", MODELS)
def test_every_key_has_a_description_for_the_editor(name: str) -> None:
    whole = schema(MODELS[name], name)
    parts = [whole, *whole.get("$defs", {}).values()]

    assert [key for part in parts for key, field in part["properties"].items() if not field.get("description")] == []


def test_the_tables_of_the_documentation_are_those_of_the_models() -> None:
    """Written anew by: python -m roles.inventory.tables"""
    page = (ROOT / PAGE).read_text()

    assert page == filled(page)


def test_the_examples_of_the_documentation_are_right(tmp_path: Path) -> None:
    hosts, profile = re.findall(r"```yaml\n(.*?)```", (ROOT / PAGE).read_text(), re.DOTALL)
    (tmp_path / "inventory/profiles").mkdir(parents=True)
    (tmp_path / "inventory/hosts.yml").write_text(hosts)
    (tmp_path / "inventory/profiles/example.yml").write_text(profile)
    inventory = load(tmp_path)

    assert [host.name for host in inventory.hosts("pair")] == ["gpu-lxc", "gpu-b"]
    assert inventory.profile("example").layout.pp == 2


def test_the_committed_profiles_are_read() -> None:
    inventory = load(ROOT)

    assert {"tp8", "tp4pp2", "tiny-tp1", "tiny-tp2pp2", "tiny-2node"} <= set(inventory.profiles)
    assert [inventory.profile(name).name for name in inventory.profiles] == list(inventory.profiles)
