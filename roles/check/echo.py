"""The server's echo of its arguments in the log -> what it says of one of them: `name=value` or `'name': value`."""

from __future__ import annotations

import ast
import re
from typing import Any

from roles.watch.layout import ECHO

MISSING = object()


def echoed(text: str, name: str) -> Any:
    """The value, where it is one that Python can read back; else MISSING."""
    line = ECHO.search(text)
    found = re.search(rf"(?:[( ]{re.escape(name)}=|'{re.escape(name)}': )", line[0]) if line else None
    if line is None or found is None:
        return MISSING
    return _value(line[0][found.end() :])


def _value(text: str) -> Any:
    """The literal that the text begins with: it ends before a comma or bracket, but maybe not before the first one."""
    for end in re.finditer(r"[,)}]", text):
        try:
            return ast.literal_eval(text[: end.start()])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            if end.start() > 4000:
                break
    return MISSING
