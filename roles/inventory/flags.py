"""The values of a profile's `flags:` and `extra_args:`, checked when read and turned into argv.

`flags:` keys are SGLang's own with underscores: `max_running_requests: 1024` is `--max-running-requests 1024`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, PlainValidator, TypeAdapter, WithJsonSchema

from roles.inventory.owned import check_flag
from roles.inventory.shapes import Sendable, Shape, Written

Scalar: TypeAlias = bool | int | float | str
FlagValue: TypeAlias = Scalar | tuple[Scalar, ...] | dict[str, object] | None

_SENDABLE: TypeAdapter[str] = TypeAdapter(Sendable)
_NEGATIVE_NUMBER = re.compile(
    r"-[0-9]+|-[0-9]*\.[0-9]+"
)  # argparse takes these for values, anything else with a dash for a flag


def _own_flag(key: str) -> str:
    check_flag(spelled(key), by=key)
    return key


def _value(value: object) -> FlagValue:
    if isinstance(value, list | tuple):
        if not value:
            raise ValueError("an empty list; leave the flag out, or write null")
        return tuple(_scalar(item) for item in value)
    if isinstance(value, dict):
        _SENDABLE.validate_python(json.dumps(value))
        return value
    return None if value is None else _scalar(value)


def _scalar(value: object) -> Scalar:
    if isinstance(value, dict):
        return _json(value)
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"expected text, a number, true, false or null, found {value!r}")
    return _SENDABLE.validate_python(value) if isinstance(value, str) else value


def _extra(argument: str) -> str:
    if argument.startswith("--"):
        flag = argument.partition("=")[0]
        if "_" in flag:
            raise ValueError(f"SGLang spells its flags with hyphens: {flag.replace('_', '-')}")
        check_flag(flag, by=flag)
    return argument


FlagName = Annotated[
    str,
    Shape(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", "SGLang's flag with underscores, such as max_running_requests"),
    AfterValidator(_own_flag),
]
Flag = Annotated[
    FlagValue,
    PlainValidator(_value),
    WithJsonSchema({"type": ["string", "number", "boolean", "null", "array", "object"]}),
]
ExtraArgument = Annotated[Written, AfterValidator(_extra)]


def spelled(key: str) -> str:
    """The flag of a `flags:` key."""
    return "--" + key.replace("_", "-")


def arguments(flags: Mapping[str, FlagValue]) -> Iterator[str]:
    """Flags -> argv, in the order they are written; false and null leave a flag out."""
    for key, value in flags.items():
        if value is None or value is False:
            continue
        yield from _argument(spelled(key), value)


def _argument(flag: str, value: FlagValue) -> Iterator[str]:
    if value is True:
        yield flag
        return
    texts = [_text(item) for item in (value if isinstance(value, tuple) else (value,))]
    if len(texts) == 1 and texts[0].startswith("-") and not _NEGATIVE_NUMBER.fullmatch(texts[0]):
        yield f"{flag}={texts[0]}"  # apart, argparse would take the value for a flag
        return
    yield flag
    yield from texts


def _text(value: object) -> str:
    if isinstance(value, dict):
        return _json(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _json(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
