"""The sentences in docs/troubleshooting.md are ones that allranks really says."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.pages import ROOT

FIELD = "\0"  # where a sentence has a value in it


@cache
def said() -> str:
    """Every text in the sources, one a line, with values taken out."""
    texts = []
    for path in [*(ROOT / "roles").rglob("*.py"), ROOT / "tasks.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [str(p.value) if isinstance(p, ast.Constant) else FIELD for p in node.values]
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(" ".join(text.split()) for text in texts)


def sentences() -> list[str]:
    """What stands in backticks in the first column of the tables."""
    lines = (ROOT / "docs/troubleshooting.md").read_text().splitlines()
    cells = [line.strip("|").split(" | ")[0] for line in lines if line.startswith("|") and "---" not in line]
    return [sentence for cell in cells for sentence in re.findall(r"`([^`]+)`", cell)]


def pattern(sentence: str) -> str:
    """`...` stands for anything; a word may stand where the source has a value."""
    pieces = []
    for part in sentence.split("..."):
        words = [rf"(?:{re.escape(word)}|\S*{FIELD}\S*)" for word in part.strip(" ;:,").split()]
        pieces.append(r"\s".join(words))
    return ".*".join(pieces)


@pytest.mark.parametrize("sentence", sentences())
def test_a_sentence_on_the_page_is_one_that_is_said(sentence: str) -> None:
    assert re.search(pattern(sentence), said()), f"nothing in the sources says: {sentence}"
