"""On a narrow terminal a long sentence goes on below itself; in a file it stays one line."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from roles.check import Finding
from roles.check.differences import Field
from roles.view import check, diff
from roles.view.console import THEME, hanging

LONG = "there is no Python at /opt/a/long/path/venv/bin/python, nor is there one anywhere else on it"


def printed(width: int, *, terminal: bool) -> list[str]:
    out = Console(file=io.StringIO(), width=width, theme=THEME, force_terminal=terminal, no_color=True, soft_wrap=True)
    check.render(out, "tp8@a", [Finding("refusal", "python", "a", LONG, "correct it; " * 4)], 0.1)
    diff.render(out, "a", [Field("settings", "name", "one", "two", "rewritten", LONG)], every=False)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue().splitlines()


def test_what_goes_on_in_the_next_line_stands_below_itself() -> None:
    said = [line for line in printed(70, terminal=True) if line.startswith(" ")]

    assert len(said) == 9 and all(len(line) <= 70 for line in said), said
    assert all(line.startswith((" " * 22, "  refused ", "  rewritten ", "  0 of 1")) for line in said), said


def test_what_are_several_lines_stay_so() -> None:
    out = Console(file=io.StringIO(), width=70, force_terminal=True, no_color=True)
    hanging(out, Text("  said  "), "a: refused the connection\nb: did not answer within 10 s")

    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue() == "  said  a: refused the connection\n        b: did not answer within 10 s\n"


@pytest.mark.parametrize("width", [40, 200])
def test_in_a_file_a_finding_is_a_line(width: int) -> None:
    assert any(line.endswith(LONG) for line in printed(width, terminal=False))
