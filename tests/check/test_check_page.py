"""docs/check.md names every topic that a finding can have."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.pages import table

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_has_a_row_for_each_topic() -> None:
    sources = [*(ROOT / "roles/check").glob("*.py"), ROOT / "roles/server/check.py"]
    said = {
        topic
        for path in sources
        for topic in re.findall(r'\.(?:ok|warning|refusal)\(\s*"(\w+)"|Finding\(\s*"\w+", "(\w+)"', path.read_text())
        for topic in topic
        if topic
    }

    assert {row[0] for row in table("check.md", "topics")} == said | {"ssh", "python"}
