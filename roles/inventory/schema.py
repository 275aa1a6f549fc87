"""The models -> JSON schemas, so that an editor completes and checks the YAML files.

Run `python -m roles.inventory.schema` to write inventory/schema/*.schema.json anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from roles.inventory.files import HostsFile
from roles.inventory.profile import Profile
from roles.inventory.wording import DERIVED

FOLDER = Path("inventory/schema")
MODELS: dict[str, type[BaseModel]] = {"hosts": HostsFile, "profile": Profile}


def schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """The schema of what a file holds: without the fields that allranks fills in."""
    whole = model.model_json_schema(by_alias=True)
    for part in (whole, *whole.get("$defs", {}).values()):
        _only_written(part)
        _only_such_keys(part)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole, "title": title}


def _only_written(part: dict[str, Any]) -> None:
    for name in DERIVED & part.get("properties", {}).keys():
        del part["properties"][name]
    part["required"] = [name for name in part.get("required", []) if name not in DERIVED]
    if not part["required"]:
        del part["required"]


def _only_such_keys(part: dict[str, Any]) -> None:
    """Where the keys of a mapping have a shape, allow no others: pydantic leaves those open."""
    for field in part.get("properties", {}).values():
        if "patternProperties" in field:
            field["additionalProperties"] = False


def rendered(name: str) -> str:
    """The text of one schema file."""
    return json.dumps(schema(MODELS[name], f"allranks {name}"), indent=2, ensure_ascii=False) + "\n"


def write(root: Path) -> None:
    """Write both schemas below a repository."""
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        (root / FOLDER / f"{name}.schema.json").write_text(rendered(name), encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).resolve().parents[2])
