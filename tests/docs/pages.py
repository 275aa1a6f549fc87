"""What the tests of the pages share: the pages, their tables and their code blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])

FENCE = re.compile(r"^```(\S*) *\n(.*?)^``` *$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it begins at, the HTML comment above it."""

    page: Path
    line: int
    language: str
    text: str
    note: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text()
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        above = before.rstrip("\n").rpartition("\n")[2]
        note = re.fullmatch(r"<!-- (.*) -->", above)
        found.append(Block(page, before.count("\n") + 1, match[1], match[2], note[1] if note else ""))
    return found


def table(page: str, name: str) -> list[list[str]]:
    """The rows of the table between `<!-- table NAME -->` and `<!-- end -->`, without head and backticks."""
    text = (ROOT / "docs" / page).read_text()
    match = re.search(rf"<!-- table {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert match, f"{page} has no table {name}"
    rows = [line.strip().strip("|").replace("\\|", "\0").split("|") for line in match[1].strip().splitlines()[2:]]
    return [[cell.replace("\0", "|").strip().strip("`").strip() for cell in row] for row in rows]
