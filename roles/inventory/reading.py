"""A YAML file -> Document.

The node tree is composed by PyYAML and read here: PyYAML's own constructor forgets lines and keeps the last of two
equal keys.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import yaml

from roles.inventory.document import Document, KeyPath, dotted
from roles.inventory.errors import InputError
from roles.inventory.scalars import plain

_IN_C = getattr(yaml, "CBaseLoader", None)
_READ_OTHERWISE = re.compile(r"[^ -~\n]|[?!%|>]|---|\.\.\.")  # tabs, tags, directives, documents, block scalars
_TEXT_TAG = "tag:yaml.org,2002:str"
_KINDS = {"list": "a list", "str": "text", "int": "a number", "float": "a number", "bool": "true or false"}


def read(file: Path, name: str) -> Document:
    """Read a file whose top level is keys and values; `name` is how errors call it."""
    document = compose(_text_of(file, name), name)
    if not isinstance(document.value, dict):
        if document.value is None:
            raise InputError(f"{name}: nothing is in it", do=f"write it as docs/inventory.md shows, or remove {name}")
        found = type(document.value).__name__
        document.problem((), f"expected keys and values at the top level, found {_KINDS.get(found, found)}")
    document.settle()
    return document


def compose(text: str, name: str) -> Document:
    """YAML text -> Document; its value may be of any kind. Problems inside are noted, not raised."""
    document = Document(name)
    try:
        node = _composed(text)
        if node is not None:
            document.places[()] = f"{name}:{node.start_mark.line + 1}"
        document.value = _Reading(document).value(node, ())  # type: ignore[assignment]  # read() narrows it
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        raise InputError(f"{place}: not valid YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise InputError(
            f"{name}:{line}: not valid YAML: the character U+{_code(error.character):04X} may not be in it"
        ) from None
    except RecursionError:
        raise InputError(f"{name}: nested too deeply to be read") from None
    return document


def _composed(text: str) -> yaml.Node | None:
    """The node tree. PyYAML's parser in C takes a fifteenth of the time (15 ms for 32 hosts).

    It is asked only where the two agree, and what it refuses is read again, so that an error has the same words.
    """
    if _IN_C is not None and not _READ_OTHERWISE.search(text):
        with contextlib.suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=_IN_C)
    return yaml.compose(text, Loader=yaml.BaseLoader)


def _code(character: int | str) -> int:
    """PyYAML's two readers disagree about what they report."""
    return character if isinstance(character, int) else ord(character)


def _text_of(file: Path, name: str) -> str:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{name}:{line}: not UTF-8 (byte {content[error.start]:#04x})") from None


class _Reading:
    """One walk over the node tree of a document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.above: list[int] = []  # the nodes we are inside of: an alias may point back at one

    def value(self, node: yaml.Node | None, path: KeyPath) -> object:
        if node is None:
            return None
        if id(node) in self.above:
            self.document.problem(path, "an alias that contains itself")
            return None
        self.above.append(id(node))
        try:
            return self._of_kind(node, path)
        finally:
            self.above.pop()

    def _of_kind(self, node: yaml.Node, path: KeyPath) -> object:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*path, place)) for place, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        values: dict[str, object] = {}
        for key_node, value_node in node.value:
            place = f"{self.document.name}:{key_node.start_mark.line + 1}"
            if not isinstance(key_node, yaml.ScalarNode):
                self.document.problems.append(f"{place}: a key must be text")
                continue
            key = (*path, key_node.value)
            if key_node.value in values:
                first = self.document.places[key]
                self.document.problems.append(f"{place}: {dotted(key)}: written twice, first at {first}")
                continue
            self.document.places[key] = place
            values[key_node.value] = self.value(value_node, key)
        return values

    def _item(self, node: yaml.Node, path: KeyPath) -> object:
        self.document.places[path] = f"{self.document.name}:{node.start_mark.line + 1}"
        return self.value(node, path)

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> object:
        text = str(node.value)
        if node.tag != _TEXT_TAG:
            self.document.problem(path, f"the tag {node.tag} is not understood; write the value alone")
        if node.style:
            return text
        self.document.texts[path] = text
        return plain(text)
