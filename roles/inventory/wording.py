"""What pydantic found wrong -> one line an operator can act on: the key, what is allowed, what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from roles.inventory.document import Document, KeyPath
from roles.inventory.nearest import did_you_mean, listed

# Filled in by allranks, never written in a file.
DERIVED = {"name", "via"}

_EXPECTED = {
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "finite_number": "expected a number",
    "bool_type": "expected true or false",
    "string_type": "expected text",
    "tuple_type": "expected a list",
    "dict_type": "expected keys and values",
    "model_type": "expected keys and values",
    "greater_than_equal": "expected {ge} or more",
    "greater_than": "expected more than {gt:g}",
    "less_than_equal": "expected {le} or less",
    "literal_error": "expected {expected}",
}


def note(error: ValidationError, document: Document, model: type[BaseModel]) -> None:
    """Note every finding of pydantic as a problem of the document."""
    for finding in error.errors(include_url=False):
        path = tuple(part for part in finding["loc"] if part != "[key]")
        if finding["type"] == "default_factory_not_called" or (path and path[-1] in DERIVED and len(path) > 1):
            continue  # an echo of another finding
        document.problem(path, _sentence(finding, path, model))


def _sentence(finding: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> str:
    kind, context, found = finding["type"], finding.get("ctx", {}), finding["input"]
    if kind == "extra_forbidden":
        return _unknown_key(str(path[-1]), _model_at(model, path[:-1]))
    if kind == "missing":
        return f"is missing: {_model_at(model, path[:-1]).model_fields[str(path[-1])].description}"
    if kind == "value_error":
        return str(context["error"])
    if found is None:
        return 'has no value; leave the key out, or write "" for an empty text'
    if kind not in _EXPECTED:
        return f"{finding['msg']}, found {found!r}"
    near = did_you_mean(str(found), _choices(context)) if kind == "literal_error" else ""
    return f"{_EXPECTED[kind].format(**context)}, found {_shown(found)}{_quotes(kind, found)}{near}"


def _shown(found: object) -> str:
    if isinstance(found, dict):
        return "keys and values"
    if isinstance(found, list):
        return "a list"
    return str(found).lower() if isinstance(found, bool) else repr(found)


def _quotes(kind: str, found: object) -> str:
    if kind == "string_type" and isinstance(found, int | float):
        return f'; put it in quotes: "{_shown(found)}"'
    return ""


def _choices(context: Mapping[str, Any]) -> list[str]:
    return str(context["expected"]).replace(" or ", ", ").replace("'", "").split(", ")


def _unknown_key(key: str, model: type[BaseModel]) -> str:
    allowed = written_fields(model)
    nested = {inner: f"{outer}.{inner}" for outer in allowed for inner in written_fields(_below(model, outer))}
    if key in nested:
        return f"unknown key; did you mean {nested[key]}?"
    if near := did_you_mean(key, allowed):
        return f"unknown key{near} allowed: {listed(allowed)}"
    flags = "; a flag of SGLang goes under flags:" if "flags" in allowed else ""
    return f"unknown key{flags}; allowed: {listed(allowed)}"


def written_fields(model: type[BaseModel] | None) -> list[str]:
    """The keys that a file may hold for a model."""
    fields = model.model_fields if model else {}
    return [field.alias or name for name, field in fields.items() if name not in DERIVED]


def _model_at(model: type[BaseModel], path: KeyPath) -> type[BaseModel]:
    """The model that a key path leads to; the nearest one above, where it leads to something else."""
    for part in path:
        model = _below(model, str(part)) or _in_values(model, str(part)) or model
    return model


def _below(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    field = model.model_fields.get(key)
    inner = field.annotation if field else None
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def _in_values(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    """Host, for hosts: {NAME: Host}."""
    field = model.model_fields.get(key)
    inner = get_args(field.annotation) if field else ()
    return next((arg for arg in inner if isinstance(arg, type) and issubclass(arg, BaseModel)), None)
