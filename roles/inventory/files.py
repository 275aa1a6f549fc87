"""inventory/hosts.yml and inventory/profiles/*.yml -> Host and Profile, or every problem of the file at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from roles.inventory.document import Document, KeyPath
from roles.inventory.host import Host
from roles.inventory.overrides import override
from roles.inventory.profile import Profile
from roles.inventory.reading import read
from roles.inventory.shapes import Name
from roles.inventory.wording import DERIVED, note

# Under these keys of a profile a value is text, however it is written: `1`, `on`, `08`.
TEXTS = ("environment", "secrets", "extra_args")
_YAML_1_1_SWITCHES = {"yes", "no", "on", "off"}


class HostsFile(BaseModel):
    """What a hosts.yml holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hosts: dict[Name, Host] = Field(default={}, description="Your hosts, by the name you call them.")
    groups: dict[Name, tuple[Name, ...]] = Field(default={}, description="Names for several hosts, or groups, at once.")


def read_hosts(file: Path, name: str) -> tuple[HostsFile, Document]:
    """Read one hosts.yml. The document is for later errors: it knows the lines."""
    document = read(file, name)
    hosts = document.value.get("hosts")
    if isinstance(hosts, dict):
        for host, fields in hosts.items():
            if fields is None:
                document.problem(("hosts", host), "has no value; write {} where your ssh_config knows all of it")
            hosts[host] = _named(document, ("hosts", host), {} if fields is None else fields, host)
    try:
        content = HostsFile.model_validate(document.value)
    except ValidationError as error:
        note(error, document, HostsFile)
        content = HostsFile()
    document.settle()
    return content, document


def read_profile(file: Path, name: str, overrides: Sequence[str] = ()) -> Profile:
    """Read one profile, with `key=value` overrides typed as in the file."""
    document = read(file, name)
    override(document, overrides)
    _keep_as_written(document)
    try:
        profile = Profile.model_validate(_named(document, (), document.value, file.stem))
    except ValidationError as error:
        note(error, document, Profile)
    document.settle()
    return profile


def _named(document: Document, path: KeyPath, fields: object, name: str) -> object:
    """Add the name that comes from a key or a file; whatever allranks fills in may not be written."""
    if not isinstance(fields, dict):
        return fields
    for derived in sorted(DERIVED & fields.keys()):
        document.problem((*path, derived), "unknown key; allranks fills it in itself")
    return {key: value for key, value in fields.items() if key not in DERIVED} | {"name": name}


def _keep_as_written(document: Document) -> None:
    """Give back the text of scalars whose spelling matters: all of TEXTS, and numbers in flags such as 1.10."""
    for path, text in document.texts.items():
        value = _at(document.value, path)
        if path[0] in TEXTS and len(path) == 2 and value is not None:
            _put(document.value, path, text)
        if path[0] != "flags" or len(path) < 2 or (len(path) > 2 and not isinstance(path[2], int)):
            continue
        if text.lower() in _YAML_1_1_SWITCHES:
            document.problem(path, f'{text} is neither true nor false; write true or false, or "{text}" for the text')
        if isinstance(value, int | float) and not isinstance(value, bool) and str(value) != text:
            _put(document.value, path, text)


def _at(value: object, path: KeyPath) -> object:
    for part in path:
        value = value[part]  # type: ignore[index]  # the path was taken from this very value
    return value


def _put(value: object, path: KeyPath, text: str) -> None:
    parent = _at(value, path[:-1])
    parent[path[-1]] = text  # type: ignore[index]  # as above
