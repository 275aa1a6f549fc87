"""Every link on a page leads somewhere, every picture is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import FENCE, PAGES, ROOT

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def links() -> list[tuple[Path, str]]:
    """(page, target) of each link that does not leave the repository."""
    found = []
    for page in PAGES:
        text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))
        found += [(page, target) for target in LINK.findall(text) if "://" not in target]
    return found


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "target"), links(), ids=lambda value: getattr(value, "name", value))
def test_a_link_leads_somewhere(page: Path, target: str) -> None:
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page

    assert there.exists(), f"{page.relative_to(ROOT)} links to {target}, which is not there"
    assert not anchor or anchor in anchors(there), f"{page.relative_to(ROOT)}: {there.name} has no heading #{anchor}"


def test_every_page_is_reached_from_the_readme() -> None:
    named = {(page.parent / target.partition("#")[0]).resolve() for page, target in links() if page.name == "README.md"}

    missing = [page.name for page in PAGES if page.name != "README.md" and page.resolve() not in named]

    assert missing == []
