"""SGLang releases -> the settings that each changes by itself: `.venv/bin/python scripts/resolved.py` reads them anew.

Each release's wheel is fetched as scripts/flags.py does, and its sources are read, not run: the keywords of every
`declare_resolution(...)` and the fields marked `resolvable` (0.5.23), the fields that ServerArgs assigns to itself, and
`server_args.X = ...` elsewhere (0.5.9). Written to roles/check/resolved.json.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "roles/check/resolved.json"
RELEASES = ("0.5.9", "0.5.23")
FEWEST = 50  # names; fewer, and what tells of them has moved
MARKS = ("declare_resolution", "resolvable=", "server_args.", "class ServerArgs")


def main(wanted: list[str]) -> None:
    """Read the wanted releases, or all of the table, and write it."""
    known: dict[str, list[str]] = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    for release in wanted or RELEASES:
        with tempfile.TemporaryDirectory(prefix="allranks-resolved-") as folder:
            known[release] = sorted(names(fetched(release, Path(folder))))
        print(f"{release}: {len(known[release])} settings", flush=True)
        if len(known[release]) < FEWEST:
            raise SystemExit(f"{release}: so few? Has it moved?")
    TABLE.write_text(json.dumps(known, indent=1) + "\n")


def fetched(release: str, folder: Path) -> Path:
    """The sources of a release, from its wheel."""
    argv = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    argv += ["--ignore-requires-python", "-d", str(folder), f"sglang=={release}"]
    subprocess.run(argv, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".py")])
    return folder / "sglang"


def names(package: Path) -> set[str]:
    """Every setting that the sources in `package` (the folder `sglang`) change by themselves."""
    found: set[str] = set()
    for file in (package / "srt").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if any(mark in text for mark in MARKS):
            found |= set(_in(ast.parse(text)))
    return {name for name in found if not name.startswith("_")}


def _in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from _declared(node)
        elif isinstance(node, ast.ClassDef):
            yield from _resolvable(node)
            if node.name == "ServerArgs":
                yield from _assigned(node, "self")
    yield from _assigned(tree, "server_args")


def _declared(function: ast.FunctionDef) -> Iterator[str]:
    """declare_resolution(server_args, source, NAME=...), and the keys of a dictionary that it is given as **fields."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    words = [word for call in calls if _name(call.func) == "declare_resolution" for word in call.keywords]
    yield from (word.arg for word in words if word.arg)
    starred = {_name(word.value) for word in words if word.arg is None} - {""}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _keys(node, starred)


def _keys(node: ast.Assign | ast.AnnAssign, of: set[str]) -> Iterator[str]:
    """fields = {"NAME": ...} and fields["NAME"] = ..."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Subscript) and _name(target.value) in of:
            yield from _texts([target.slice])
        elif _name(target) in of and isinstance(node.value, ast.Dict):
            yield from _texts(node.value.keys)


def _resolvable(cls: ast.ClassDef) -> Iterator[str]:
    """NAME: A[int, Arg(resolvable=True)] = ..."""
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            words = [word for part in ast.walk(node.annotation) if isinstance(part, ast.Call) for word in part.keywords]
            if any(word.arg == "resolvable" and _true(word.value) for word in words):
                yield node.target.id


def _assigned(tree: ast.AST, whom: str) -> Iterator[str]:
    """WHOM.NAME = ..."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _name(node.value) == whom:
            yield node.attr


def _texts(nodes: list[ast.expr | None] | list[ast.expr]) -> Iterator[str]:
    yield from (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


if __name__ == "__main__":
    main(sys.argv[1:])
