"""docs/doctor.md says what the code does."""

from __future__ import annotations

from roles.server.commands.doctor import EXIT_CODES
from tests.docs.pages import table


def test_every_state_is_in_the_table_with_its_code() -> None:
    assert {row[0]: int(row[1]) for row in table("doctor.md", "diagnoses")} == EXIT_CODES
