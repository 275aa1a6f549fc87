"""A key into a profile's file, everything else there as it was, comments too. Read back before it is kept."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

from roles.inventory.errors import InputError
from roles.inventory.files import read_profile
from roles.inventory.inventory import PROFILES
from roles.inventory.profile import Profile

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./,:-]*")


def put(root: Path, name: str, key: str, value: str) -> Path:
    """Set `section.key` of a profile; gives the file.

    Raises: InputError, and leaves the file alone, where that cannot be done without touching anything else.
    """
    file = root / PROFILES / f"{name}.yml"
    section, _, inner = key.partition(".")
    before = file.read_text(encoding="utf-8")
    after = _with(before, section, inner, value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False))
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".edit-") as folder:
        copy = Path(folder) / file.name
        copy.write_text(after, encoding="utf-8")
        try:
            good = read_profile(copy, str(file)) == _wanted(read_profile(file, str(file)), section, inner, value)
        except InputError:
            good = False
        if not good:
            what = f"{PROFILES / file.name} is not written so that {key} could be put into it"
            raise InputError(what, do=f"write {key}: {value} there by hand")
        shutil.copymode(file, copy)
        copy.replace(file)
    return file


def _wanted(profile: Profile, section: str, inner: str, value: str) -> Profile:
    fields = profile.model_dump(mode="json", exclude_unset=True)
    number = int(value) if section == "limits" and value.isdigit() else value
    return Profile.model_validate({**fields, section: {**(fields.get(section) or {}), inner: number}})


def _with(text: str, section: str, inner: str, value: str) -> str:
    lines = text.splitlines()
    line = f"{inner}: {value}"
    head = next((place for place, each in enumerate(lines) if re.fullmatch(rf"{section}:\s*(#.*)?", each)), None)
    if head is None:
        return "\n".join([*lines, "", f"{section}:", f"  {line}"]) + "\n"
    end = head + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " #"):
        end += 1
    block = range(head + 1, end)
    there = next((place for place in block if re.match(rf"\s+{re.escape(inner)}\s*:", lines[place])), None)
    indent = next((re.match(r"\s*", lines[place])[0] for place in block if _is_key(lines[place])), "  ")  # type: ignore[index]
    if there is not None:
        lines[there] = indent + line
    else:
        lines.insert(head + 1, indent + line)
    return "\n".join(lines) + "\n"


def _is_key(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
