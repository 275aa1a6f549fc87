"""The texts and numbers an inventory may hold. Each says what it must look like, to people and in the JSON schema.

A name, address, user or path ends up in a command line or an SSH session: none may begin with a dash
(it would be taken for an option) or hold blanks or control characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class Shape:
    """A regular expression the whole text must match, and the same in words."""

    pattern: str
    expected: str
    shown: bool = True  # whether an error may repeat what was written

    def check(self, text: str) -> str:
        """Refuse a text of another shape, saying what was expected."""
        if not re.fullmatch(self.pattern, text):
            raise ValueError(f"expected {self.expected}, found {repr(text) if self.shown else 'something else'}")
        return text

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^(?:{self.pattern})$"}


def _sendable(text: str) -> str:
    """What can be an argument or a variable of a process: bytes without NUL."""
    if "\0" in text:
        raise ValueError("a NUL character cannot be in an argument or a variable of a process")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is not a character") from None
    return text


def _as_written(value: object) -> object:
    """A number stays the text it is; True and False are left for the error, since their spelling is lost."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


_PRINTABLE = r"[^\x00-\x1f\x7f-\x9f]"  # no C0 or C1 control characters
_PLAIN = rf"(?!-){_PRINTABLE}+"
_SCALARS: dict[str, Any] = {"type": ["string", "number", "boolean"]}

Name = Annotated[str, Shape(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", "a name of letters, digits, '.', '_' and '-'")]
Address = Annotated[str, Shape(r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]*", "a host name or an IP address, without port or user")]
User = Annotated[str, Shape(r"[A-Za-z0-9_][A-Za-z0-9._@+\\-]*\$?", "a login name")]
Jump = Annotated[
    str,
    Shape(
        r"[A-Za-z0-9_\[:][A-Za-z0-9._@+\\:%\[\]-]*",
        "the name of a host in the inventory, or user@host:port",
    ),
]
Interface = Annotated[str, Shape(r"[A-Za-z0-9=^][A-Za-z0-9_.,:=^@-]*", "a network interface such as eth0")]
OneLine = Annotated[str, Shape(_PLAIN, "one line of text that does not begin with a dash")]
AbsolutePath = Annotated[str, Shape(rf"/{_PRINTABLE}*", "an absolute path (it goes where no shell would expand ~)")]
HomePath = Annotated[str, Shape(rf"(?:/|~/){_PRINTABLE}+", "an absolute path or one that begins with ~/")]
Program = Annotated[
    str, Shape(r"/[^\x00-\x20\x7f-\x9f]+|[A-Za-z0-9_.+][A-Za-z0-9_.+-]*", "python3 or an absolute path")
]
RELEASE = Shape(r"[0-9]+(?:\.[0-9A-Za-z]+)+", "a version such as 0.5.9")
Version = Annotated[str, RELEASE]
VariableName = Annotated[str, Shape(r"[A-Za-z_][A-Za-z0-9_]*", "the name of an environment variable")]
SecretReference = Annotated[
    str,
    Shape(
        rf"env:[A-Za-z_][A-Za-z0-9_]*|file:{_PLAIN}",
        "env:NAME or file:PATH (a reference, never the secret)",
        shown=False,
    ),
]

Sendable = Annotated[str, AfterValidator(_sendable)]
Written = Annotated[Sendable, BeforeValidator(_as_written, json_schema_input_type=str | int | float | bool)]
Count = Annotated[int, Strict(), Field(ge=1, le=1_000_000)]
Index = Annotated[int, Strict(), Field(ge=0, le=1_000_000)]
Port = Annotated[int, Strict(), Field(ge=1, le=65535)]
Seconds = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
Switch = Annotated[bool, Strict()]
