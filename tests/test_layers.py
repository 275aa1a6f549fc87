"""Imports point one way. This reads the source of every room and fails where one looks up or sideways.

tasks → server, bench, lab → remote, view → ledger, check → plan, watch → inventory;  onhost: the standard library only
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Room: the rooms it may import.
MAY_IMPORT = {
    "inventory": set(),
    "plan": {"inventory"},
    "watch": {"inventory"},
    "check": {"plan", "watch", "inventory"},
    "remote": {"plan", "watch", "inventory", "onhost"},  # only remote ships the program for the hosts
    "ledger": {"plan", "watch", "inventory"},
    "view": {"ledger", "check", "plan", "watch", "inventory"},
    "server": {"remote", "ledger", "view", "check", "plan", "watch", "inventory"},
    "bench": {"remote", "ledger", "view", "plan", "watch", "inventory"},
    "lab": {"remote", "ledger", "view", "plan", "watch", "inventory"},
    "onhost": set(),
}

# Third party: the only rooms or modules it may be imported in.
DOORS = {
    "fabric": {"remote"},
    "paramiko": {"remote"},
    "tenacity": {"remote"},
    "invoke": {"tasks", "remote"},
    "pydantic": {"inventory"},
    "pydantic_core": {"inventory"},
    "yaml": {"inventory", "lab"},
    "jinja2": {"plan.script", "bench.report", "view.report"},
    "rich": {"view"},
    # These run beside SGLang, in its own virtual environment: on a host, and in the lab.
    "sglang": {"onhost.parser"},
    "torch": {"lab.standins", "lab.tiny_model", "onhost.measuring"},
    "tokenizers": {"lab.tiny_model"},
    "transformers": {"lab.tiny_model"},
}

# Rooms that only turn values into values, and what would reach out of them.
PURE = {"plan", "watch", "check"}
REACHING_OUT = {"subprocess", "socket", "threading", "multiprocessing", "asyncio", "random", "urllib", "http"}


def imports(source: str, module: str) -> Iterator[str]:
    """Every module that a source imports, however: at the top, inside, for types only, by importlib."""
    package = module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            within = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{within}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and _called(node) in ("import_module", "__import__"):
            name = node.args[0]
            yield name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def violations(source: str, module: str) -> list[str]:
    """What the source of a module such as `roles.plan.build` imports and may not."""
    parts = module.split(".")
    room = parts[1] if parts[0] == "roles" and len(parts) > 1 else parts[0]
    found = (_violation(room, ".".join(parts[1:]) or room, name) for name in imports(source, module) if name)
    return [f"{module} imports {what}" for what in dict.fromkeys(found) if what]


def _violation(room: str, place: str, name: str) -> str:
    top, *below = name.split(".")
    if top == "tasks":
        return name
    if top == "roles":
        inner = below[0] if below else "roles"
        allowed = room in ("tasks", inner) or inner in MAY_IMPORT.get(room, set())
        return "" if allowed else name
    if top in sys.stdlib_module_names:
        return name if room in PURE and top in REACHING_OUT else ""
    doors = DOORS.get(top, set())
    return "" if any(place == door or place.startswith(f"{door}.") for door in doors) else name


def modules() -> Iterable[tuple[Path, str]]:
    files = [ROOT / "tasks.py", *sorted((ROOT / "roles").rglob("*.py"))]
    for file in files:
        if file.exists():
            parts = file.relative_to(ROOT).with_suffix("").parts
            # A package's __init__ is the package: `from . import x` in it starts there.
            yield file, ".".join(parts)


def test_every_module_imports_only_what_lies_below_it() -> None:
    assert [found for file, module in modules() for found in violations(file.read_text(), module)] == []


def test_every_room_is_known_to_this_test() -> None:
    rooms = {folder.name for folder in (ROOT / "roles").iterdir() if any(folder.glob("*.py"))}

    assert rooms <= set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("roles.plan.build", "import roles.remote", "roles.remote"),
        ("roles.plan.build", "from roles import remote", "roles.remote"),
        ("roles.plan.build", "from roles.remote.connect import build", "roles.remote.connect.build"),
        ("roles.plan.build", "from ..remote import connect", "roles.remote.connect"),
        ("roles.plan.build", "from .. import remote", "roles.remote"),
        ("roles.plan.build", "def f():\n    import roles.remote.connect", "roles.remote.connect"),
        ("roles.plan.build", "if TYPE_CHECKING:\n    from roles.server import deploy", "roles.server.deploy"),
        ("roles.plan.build", "importlib.import_module('roles.remote')", "roles.remote"),
        ("roles.plan.build", "import subprocess", "subprocess"),
        ("roles.plan.build", "import jinja2", "jinja2"),
        ("roles.watch.board", "from roles.plan import Plan", "roles.plan.Plan"),
        ("roles.watch.board", "from roles.remote import frames", "roles.remote.frames"),
        ("roles.view.board", "from roles.server import deploy", "roles.server.deploy"),
        ("roles.view.board", "import fabric", "fabric"),
        ("roles.ledger.ledger", "from roles.remote import remote", "roles.remote.remote"),
        ("roles.server.deploy", "from roles.lab import verbs", "roles.lab.verbs"),
        ("roles.server.deploy", "from rich.console import Console", "rich.console.Console"),
        ("roles.inventory.host", "import roles.plan", "roles.plan"),
        ("roles.onhost.start", "from roles.inventory import errors", "roles.inventory.errors"),
        ("roles.onhost.start", "import requests", "requests"),
        ("roles.server.deploy", "from roles.onhost import pack", "roles.onhost.pack"),
        ("roles.server.deploy", "import tasks", "tasks"),
        ("tasks", "import pydantic", "pydantic"),
        ("tasks", "from rich import print", "rich.print"),
    ],
)
def test_a_look_up_or_sideways_is_caught(module: str, source: str, found: str) -> None:
    assert violations(source, module) == [f"{module} imports {found}"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("roles.plan.script", "import jinja2\nfrom roles.inventory import Host\nfrom roles.plan.argv import by_flag"),
        ("roles.plan.build", "from . import argv\nfrom .script import render\nimport json, hashlib"),
        ("roles.remote.remote", "from roles.onhost.pack import pack\nimport fabric, paramiko"),
        ("roles.onhost.start", "from . import proc\nfrom .state import Run\nimport subprocess, socket"),
        ("roles.lab.written", "import yaml\nfrom roles.inventory import Host"),
        ("tasks", "from invoke import task\nfrom roles.lab import verbs\nfrom roles.server import deploy"),
    ],
)
def test_a_look_down_is_allowed(module: str, source: str) -> None:
    assert violations(source, module) == []
