import random
from pathlib import Path

import pytest

from roles.inventory import InputError
from roles.inventory import reading as reading_module
from roles.inventory.document import Document
from roles.inventory.reading import read
from roles.inventory.scalars import plain


def written(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "x.yml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def reading(tmp_path: Path, text: str | bytes) -> Document:
    return read(written(tmp_path, text), "x.yml")


def refusal(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        reading(tmp_path, text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),
        ("on", "on"),
        ("yes", "yes"),
        ("08", "08"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("2026-11-29", "2026-11-29"),
        ("0.5.9", "0.5.9"),
        ("8", 8),
        ("-8", -8),
        ("0", 0),
        ("0.92", 0.92),
        ("1e3", 1000.0),
        (".5", 0.5),
        (".", "."),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_a_scalar_without_quotes_is_what_it_looks_like(text: str, value: object) -> None:
    assert plain(text) == value and type(plain(text)) is type(value)


def test_each_key_knows_its_line_and_each_scalar_its_text(tmp_path: Path) -> None:
    document = reading(tmp_path, "a:\n  b: 1.10\n  c:\n    - x\n    - 'y'\n")

    assert document.value == {"a": {"b": 1.1, "c": ["x", "y"]}}
    assert document.places["a", "b"] == "x.yml:2"
    assert document.places["a", "c", 1] == "x.yml:5"
    assert document.texts == {("a", "b"): "1.10", ("a", "c", 0): "x"}


def test_quotes_make_text(tmp_path: Path) -> None:
    assert reading(tmp_path, "a: '1'\nb: \"true\"\n").value == {"a": "1", "b": "true"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.yml: nothing is in it"),
        ("# only this\n", "x.yml: nothing is in it"),
        ("- a\n", "x.yml:1: expected keys and values at the top level, found a list"),
        ("\n\njust text\n", "x.yml:3: expected keys and values at the top level, found text"),
        ("a: 1\nb: 2\na: 3\n", "x.yml:3: a: written twice, first at x.yml:1"),
        ("a:\n  b: 1\n  b: 2\n", "x.yml:3: a.b: written twice, first at x.yml:2"),
        ("a: 1\n\tb: 2\n", "x.yml:2: not valid YAML: found character '\\t' that cannot start any token"),
        ("a: [1\n", "x.yml:2: not valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: 1\n---\nb: 2\n", "x.yml:2: not valid YAML: but found another document"),
        ("? [a]\n: 1\n", "x.yml:1: a key must be text"),
        (
            "a: !!python/name:os.system x\n",
            "x.yml:1: a: the tag tag:yaml.org,2002:python/name:os.system is not understood",
        ),
        ("a: &x\n  b: *x\n", "x.yml:2: a.b: an alias that contains itself"),
        ("a: *gone\n", "x.yml:1: not valid YAML: found undefined alias"),
        (b"a: 1\nb: \xff\n", "x.yml:2: not UTF-8 (byte 0xff)"),
        ("a: 1\nb: \x01\n", "x.yml:2: not valid YAML: the character U+0001 may not be in it"),
        ("[" * 1000, "x.yml: nested too deeply to be read"),
    ],
)
def test_a_broken_file_is_one_line_with_its_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    found = refusal(tmp_path, text)

    assert found.startswith(message) and "\n" not in found


def test_several_problems_are_all_told_one_a_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, "a: 1\na: 2\nb: 1\nb: 2\n").splitlines() == [
        "x.yml:2: a: written twice, first at x.yml:1",
        "x.yml:4: b: written twice, first at x.yml:3",
    ]


def test_a_byte_order_mark_and_an_anchor_are_no_trouble(tmp_path: Path) -> None:
    assert reading(tmp_path, b"\xef\xbb\xbfa: &x {b: 1}\nc: *x\n").value == {"a": {"b": 1}, "c": {"b": 1}}


def test_a_missing_file_and_a_folder_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^gone\.yml: no such file$"):
        read(tmp_path / "gone.yml", "gone.yml")
    with pytest.raises(InputError, match=r"^x: cannot be read: Is a directory$"):
        read(tmp_path, "x")


WORDS = """a b| b: c|key:|gpus: 8|- x|- |'q'|"d"|"a\\n"|[1, 2]|{a: b}|{a: b,|c}|[x|]|# note|&anc|*anc|08|1.5|yes|~|null
http://x:80|@|`|'|"|\\|:|,|a:b|#x|x# y|<<: *anc|=|\t|?|!t|%|---|é""".replace("\n", "|").split("|")
BETWEEN = ("\n", "\n  ", "\n    ", " ", "\n- ", "\n  - ", ": ", "", " \n", "\n\n")


def test_the_parser_in_c_reads_values_lines_and_errors_as_the_other_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml._yaml")
    chance, in_c, read_in_c = random.Random(7), reading_module._IN_C, 0

    def read_by(parser: object, text: str) -> object:
        monkeypatch.setattr(reading_module, "_IN_C", parser)
        try:
            return reading_module.compose(text, "x.yml")
        except InputError as error:
            return str(error)

    for _ in range(4000):
        text = "".join(chance.choice(WORDS) + chance.choice(BETWEEN) for _ in range(chance.randint(1, 9)))
        assert read_by(in_c, text) == read_by(None, text), text
        read_in_c += isinstance(read_by(in_c, text), Document) and not reading_module._READ_OTHERWISE.search(text)
    assert read_in_c > 200
