"""A scalar written without quotes -> its value, by the rules of YAML 1.2.

Only true and false are booleans (`NO`, `on` and `yes` are text), and a number has no leading zeros (`08` is text).
"""

from __future__ import annotations

import re

_CONSTANTS: dict[str, bool | None] = {"": None, "~": None}
for _word, _value in (("true", True), ("false", False), ("null", None)):
    _CONSTANTS |= {_word: _value, _word.capitalize(): _value, _word.upper(): _value}

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]*\.[0-9]+|[0-9]+\.)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+")


def plain(text: str) -> bool | int | float | str | None:
    """The value of a scalar written without quotes."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text) and len(text) < 1000:  # Python refuses to read integers of several thousand digits
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
