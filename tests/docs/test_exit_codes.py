"""docs/exit-codes.md says what the code does."""

from __future__ import annotations

from roles.inventory.errors import AllranksError
from roles.server.commands.deploy import NOT_UP
from roles.server.state import EXIT_CODES
from tests.docs.pages import table


def test_every_error_is_in_the_table_with_its_code() -> None:
    kinds: list[type[AllranksError]] = [AllranksError, *AllranksError.__subclasses__()]

    documented = {row[1]: int(row[0]) for row in table("exit-codes.md", "errors") if row[1]}

    assert documented == {kind.__name__: kind.exit_code for kind in kinds}


def test_0_and_130_are_the_only_codes_that_no_error_stands_for() -> None:
    unnamed = [int(row[0]) for row in table("exit-codes.md", "errors") if not row[1]]

    assert unnamed == [0, 130]


def test_every_verdict_of_a_deploy_is_in_the_table_with_its_code() -> None:
    documented = {row[0]: int(row[1]) for row in table("exit-codes.md", "verdicts")}

    assert documented == {"up": 0, **NOT_UP}


def test_every_state_is_in_the_table_with_its_code() -> None:
    documented = {row[0]: int(row[1]) for row in table("exit-codes.md", "states")}

    assert documented == EXIT_CODES
