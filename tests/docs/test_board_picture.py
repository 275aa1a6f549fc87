"""The board on the README's first screen is the one that is drawn today."""

from __future__ import annotations

import runpy

from tests.docs.pages import ROOT, blocks

DRAWN, WORDS = runpy.run_path(str(ROOT / "docs/board.py"))["picture"]()


def test_the_picture_is_what_the_view_makes_of_the_recorded_deploy() -> None:
    assert (ROOT / "docs/board.svg").read_text() == DRAWN, "draw it anew: python docs/board.py"


def test_the_text_board_on_the_deploy_page_is_the_same_moment() -> None:
    boards = [block.text for block in blocks(ROOT / "docs/deploy.md") if block.note == "board"]

    assert boards == [WORDS], "put the words of `python docs/board.py` there"


def test_the_picture_shows_every_rank() -> None:
    for rank in ("PP0", "PP1"):
        assert rank in DRAWN and rank in WORDS
