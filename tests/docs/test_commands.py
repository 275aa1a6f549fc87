"""Every `inv` command on a page is one that inv takes, and each command's options are all on its page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from invoke.exceptions import ParseError
from invoke.parser import Parser, ParserContext

from roles.inventory import load
from roles.plan import plan_for
from tasks import namespace
from tests.docs.pages import PAGES, ROOT, blocks, table

CONTEXTS: dict[str, ParserContext] = {str(context.name): context for context in namespace.to_contexts()}

# Where the options of a command stand: in the table `options` of its own page, but for these.
TABLES = {
    "report": ("history.md", "report options"),
    "unlock": ("lease.md", "options"),
    **dict.fromkeys(("lab.up", "lab.down", "lab.status"), ("lab.md", "options")),
}
PLACES = {verb: TABLES.get(verb, (f"{verb}.md", "options")) for verb in CONTEXTS}


def commands() -> list[tuple[str, str]]:
    """(where, command line) of each `inv` command in a code block that shows what to type."""
    found = []
    for page in PAGES:
        for block in blocks(page):
            if block.language not in ("", "sh", "console"):
                continue
            for number, line in enumerate(block.text.splitlines(), 1):
                typed = line.strip().removeprefix("$ ")
                if typed.startswith("inv "):
                    found.append((f"{page.name}:{block.line + number}", typed))
    return found


@pytest.mark.parametrize(("where", "typed"), commands(), ids=lambda value: str(value).replace(" ", "_"))
def test_a_command_on_a_page_is_one_that_inv_takes(where: str, typed: str) -> None:
    words = shlex.split(re.split(r" \| | >|; | && |   ", typed)[0])[1:]
    if words[0].startswith("-"):
        return  # inv's own options: --list, --version

    try:
        parsed = Parser(contexts=CONTEXTS.values()).parse_argv([word for word in words if word != "--help"])
    except ParseError as error:
        raise AssertionError(f"{where}: {typed}: {error}") from error

    assert parsed[0].name in CONTEXTS


def planned() -> list[tuple[str, dict[str, Any]]]:
    """(command line, its arguments) of each one on a page that makes a plan out of the committed inventory."""
    inventory, found = load(ROOT), []
    for _, typed in commands():
        words = shlex.split(re.split(r" \| | >|; | && |   ", typed)[0])[1:]
        if not words[0].startswith("-") and "--help" not in words:
            told = {name: taken.value for name, taken in Parser(CONTEXTS.values()).parse_argv(words)[0].args.items()}
            known = told.get("host") in inventory.by_name
            if known and (ROOT / f"inventory/profiles/{told.get('profile')}.yml").exists():
                found.append((typed, told))
    return found


@pytest.mark.parametrize(("typed", "told"), planned(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_plan_can_be_made_of_a_command_on_a_page(typed: str, told: dict[str, Any]) -> None:
    inventory = load(ROOT)

    assert plan_for(inventory.profile(told["profile"], told["set"] or ()), inventory.hosts(told["host"])).ranks


@pytest.mark.parametrize(("page", "name"), sorted(set(PLACES.values())))
def test_the_options_of_a_command_are_all_on_its_page(page: str, name: str) -> None:
    documented = [row[0].split()[0] for row in table(page, name)]
    verbs = [verb for verb, place in PLACES.items() if place == (page, name)]

    assert sorted(documented) == sorted(set().union(*(_flags(verb) for verb in verbs)))


@pytest.mark.parametrize("verb", PLACES)
def test_a_default_on_a_page_is_the_real_one(verb: str) -> None:
    said = {row[0].split()[0].removeprefix("--"): row[1] for row in table(*PLACES[verb])}
    real = {name: taken.value for name, taken in CONTEXTS[verb].args.items() if len(name) > 1}

    numbers = {name: f"{value:g}" for name, value in real.items() if isinstance(value, (int, float)) and value}
    switches = {name: "no" for name, value in real.items() if value is False}

    assert {name: said[name] for name in (*numbers, *switches)} == {**numbers, **switches}


def _flags(verb: str) -> set[str]:
    return {f"--{name.replace('_', '-')}" for name in CONTEXTS[verb].args if len(name) > 1}


def test_every_command_has_a_page_that_says_its_name_first() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    for verb in set(CONTEXTS) - set(TABLES):
        assert (docs / f"{verb}.md").read_text().startswith(f"# inv {verb}"), verb
