"""What pip says, as one line."""

import venv
from pathlib import Path

import pytest

from roles.inventory.errors import AllranksError
from roles.lab import pip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Collecting torch==2.13.0+cpu", "torch==2.13.0+cpu"),
        ("  Downloading transformers-5.19.0-py3-none-any.whl (12.6 MB)", "transformers-5.19.0 12.6 MB"),
        ("Processing /srv/wheels/sympy-1.14.0-py3-none-any.whl (from -r pins.txt (line 77))", "sympy-1.14.0"),
        ("Using cached click-8.5.1-py3-none-any.whl (110 kB)", "click-8.5.1 110 kB"),
        ("Installing collected packages: a, b, c", "unpacking 3 packages"),
        ("Installing collected packages: a", "unpacking 1 package"),
        ("Requirement already satisfied: pip in /x", None),
        ("", None),
    ],
)
def test_a_line_of_pips_is_told_in_few_words(line: str, words: str | None) -> None:
    assert pip.words(line) == words


def test_what_cannot_be_installed_is_one_line_with_pips_own_reason(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)

    with pytest.raises(AllranksError) as caught:
        pip.install(tmp_path / "venv", "--no-index", "--find-links", str(tmp_path), "allranks-no-such-package")

    assert "allranks-no-such-package" in str(caught.value)
    assert "No matching distribution" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
