"""The models -> the tables of docs/inventory.md, so that the page cannot forget a key.

Run `python -m roles.inventory.tables` to write them anew, each between its two markers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from roles.inventory.host import Host
from roles.inventory.profile import Layout, Profile, Timeouts
from roles.inventory.wording import DERIVED

PAGE = Path("docs/inventory.md")
MODELS: dict[str, type[BaseModel]] = {"host": Host, "profile": Profile, "layout": Layout, "timeouts": Timeouts}


def table(model: type[BaseModel]) -> str:
    """The Markdown table of a model's keys."""
    rows = [
        f"| `{field.alias or name}` | {_default(field)} | {field.description} |"
        for name, field in model.model_fields.items()
        if name not in DERIVED
    ]
    return "\n".join(["| Key | Default | |", "| --- | --- | --- |", *rows])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**needed**"
    value = field.default
    if field.default_factory is not None or value is None or value in ({}, ()):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def filled(page: str) -> str:
    """The page with every table as the models have it now."""
    for name, model in MODELS.items():
        marked = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = table(model) + "\n"
        page, times = marked.subn(lambda found, text=text: found[1] + text + found[2], page)  # type: ignore[misc]
        if times != 1:
            raise ValueError(f"{PAGE}: expected one place for the table {name}, found {times}")
    return page


if __name__ == "__main__":
    page = Path(__file__).resolve().parents[2] / PAGE
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
