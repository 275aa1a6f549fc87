"""`--set key=value` -> the profile's document, changed. Values are typed as in the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roles.inventory.document import Document, KeyPath
from roles.inventory.errors import InputError
from roles.inventory.nearest import did_you_mean
from roles.inventory.owned import check_flag, check_variable
from roles.inventory.profile import Layout, Profile
from roles.inventory.reading import compose
from roles.inventory.wording import written_fields

_BY_NAME = ("flags", "environment", "secrets")  # keys in these are the operator's own
_NESTED = ("layout", "timeouts", *_BY_NAME)
_VERBATIM = ("environment", "secrets")  # the shell has taken its quotes off already: nothing is left to parse


def override(document: Document, overrides: Sequence[str]) -> None:
    """Write each `key=value` into the document, so that errors name the override as their place."""
    for text in overrides:
        key, equals, value = text.partition("=")
        place = f"--set {key}={value}"
        if not equals or not key:
            raise InputError(f"--set {text}: not an override", do="write --set KEY=VALUE, for example --set tp=4")
        path = _path_of(key, document, place)
        _write(document, path, value, place)


def _path_of(key: str, document: Document, place: str) -> KeyPath:
    outer, dot, inner = key.partition(".")
    if not dot:
        return _bare(key, document, place)
    if outer not in _NESTED or not inner:
        raise InputError(f"{place}: {key}: no such key{did_you_mean(outer, _NESTED)}", do=f"known: {_known()}")
    return outer, inner.replace("-", "_") if outer == "flags" else inner


def _bare(key: str, document: Document, place: str) -> KeyPath:
    """A field; else a key that the profile has already."""
    flag = key.replace("-", "_")
    if flag in written_fields(Profile):
        return (flag,)
    if flag in written_fields(Layout):
        return "layout", flag
    for outer in _BY_NAME:
        name = flag if outer == "flags" else key
        if name in _keys(document, outer):
            return outer, name
    _pointer(key, flag, place)
    present = [name for outer in _BY_NAME for name in _keys(document, outer)]
    near = did_you_mean(key, [*written_fields(Profile), *written_fields(Layout), *present])
    outer = "environment" if key.isupper() else "flags"
    raise InputError(
        f"{place}: {key} is no field of a profile and is not in this one{near}",
        do=f"to add it write --set {outer}.{key if key.isupper() else flag}=...",
    )


def _pointer(key: str, flag: str, place: str) -> None:
    """Raise for a flag or a variable that a field decides: tp_size is layout.tp."""
    try:
        check_flag("--" + flag.replace("_", "-"), by=key)
        if key.isupper():
            check_variable(key)
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None


def _keys(document: Document, outer: str) -> Iterable[str]:
    values = document.value.get(outer)
    return values if isinstance(values, dict) else ()


def _write(document: Document, path: KeyPath, text: str, place: str) -> None:
    for noted in (document.places, document.texts):
        for known in [known for known in noted if known[: len(path)] == path]:
            del noted[known]
    value: object = text
    if path[0] not in _VERBATIM or len(path) == 1:
        written = compose(text, place)
        document.problems += written.problems
        document.texts.update({(*path, *inner): scalar for inner, scalar in written.texts.items()})
        value = written.value
    document.places[path] = place
    *above, last = path
    target = document.value
    for key in above:
        inner = target.setdefault(str(key), {})
        if not isinstance(inner, dict):
            return  # the file itself is wrong there, and reading it will say so
        target = inner
    target[str(last)] = value


def _known() -> str:
    return ", ".join([*written_fields(Profile), *(f"{outer}.NAME" for outer in _NESTED)])
