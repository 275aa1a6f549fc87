"""The sample outputs on the pages, and what of an output is the same each time."""

from __future__ import annotations

import re

from tests.docs.pages import PAGES, blocks

CHANGING = (
    (r"\d{8}-\d{6}-[\w-]+", "RUN"),
    (r"by \S+@\S+\)", "by WHO)"),
    (r"/\S+/runs/", "runs/"),
    (r"'.*' in ", "TEXT in "),
    (r"\d[\d,.:]*", "N"),
    (r"N min N s", "N s"),
    (r"N to N", "N"),
    (r"(distributed ready) in N s", r"\1"),
    (r"\s+", " "),
)


def samples(command: str) -> list[tuple[str, list[str]]]:
    """(page, lines) of each block that shows what a command prints; a line `...` stands for any."""
    found = []
    for page in PAGES:
        for block in blocks(page):
            first, *lines = block.text.splitlines()
            if first == f"$ {command}":
                found.append((page.name, lines))
    assert found, f"no page shows {command}"
    return found


def plain(line: str) -> str:
    """A line without what is another each time: numbers, ids, who; one that is cut short ends in …"""
    for pattern, word in CHANGING:
        line = re.sub(pattern, word, line)
    return line.strip()


def not_printed(lines: list[str], printed: str) -> list[str]:
    """The lines of a sample that are not among what was printed."""
    real = {plain(line) for line in printed.splitlines()}
    said = [line for line in map(plain, lines) if line != "..."]
    return [
        line
        for line in said
        if line not in real and not (line.endswith("…") and any(each.startswith(line[:-1]) for each in real))
    ]


def not_shown(lines: list[str], printed: str) -> list[str]:
    """What was printed and is not in a sample."""
    shown = [plain(line) for line in lines]
    return [
        line
        for line in map(plain, printed.splitlines())
        if line and not any(line == each or (each.endswith("…") and line.startswith(each[:-1])) for each in shown)
    ]
