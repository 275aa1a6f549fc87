"""Which deployment is meant, by what was made from here."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from roles.inventory import Inventory, load
from roles.inventory.errors import InputError
from roles.ledger import Ledger, Record
from roles.server.target import all_meant, meant


def nobody(question: str, choices: Sequence[str]) -> None:
    """No terminal: there is nobody to ask."""


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    (tmp_path / "inventory/profiles").mkdir(parents=True)
    (tmp_path / "inventory/hosts.yml").write_text("hosts: {a: {}, b: {}, c: {}}")
    return load(tmp_path)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def note(ledger: Ledger, run: str, deployment: str, result: str) -> None:
    profile, hosts = deployment.split("@")
    ledger.write(Record(run, deployment, profile, tuple(hosts.split(",")), "ada@desk", 1.0, result))


def test_the_one_deployment_that_was_made_from_here_is_meant(inventory: Inventory, ledger: Ledger) -> None:
    note(ledger, "2026-1", "tp2@a,b", "up")

    hosts, name = meant(inventory, ledger, None, None, nobody)

    assert ([host.name for host in hosts], name) == (["a", "b"], "tp2@a,b")


def test_one_that_failed_is_not_meant_beside_one_that_is_up(inventory: Inventory, ledger: Ledger) -> None:
    note(ledger, "2026-1", "tp2@a", "failed")
    note(ledger, "2026-2", "tp1@b", "up")

    assert meant(inventory, ledger, None, None, nobody)[1] == "tp1@b"


def test_one_that_failed_is_meant_where_there_is_no_other(inventory: Inventory, ledger: Ledger) -> None:
    note(ledger, "2026-1", "tp2@a", "failed")

    assert meant(inventory, ledger, None, None, nobody)[1] == "tp2@a"


def test_with_several_and_nobody_to_ask_they_are_listed(inventory: Inventory, ledger: Ledger) -> None:
    note(ledger, "2026-1", "tp2@a", "up")
    note(ledger, "2026-2", "tp1@b", "up")

    with pytest.raises(InputError, match="tp2@a, tp1@b"):
        meant(inventory, ledger, None, None, nobody)


def test_status_means_all_that_were_made_from_here(inventory: Inventory, ledger: Ledger) -> None:
    note(ledger, "2026-1", "tp2@a,b", "up")
    note(ledger, "2026-2", "tp1@b", "up")
    note(ledger, "2026-3", "tp1@c", "stopped")

    hosts, names = all_meant(inventory, ledger, None, None)

    assert [host.name for host in hosts] == ["a", "b"]
    assert names == ["tp2@a,b", "tp1@b"]


def test_the_beginning_of_a_runs_id_is_a_name(inventory: Inventory, ledger: Ledger) -> None:
    note(ledger, "20261129-171933-tp2-9k8w", "tp2@a", "up")
    note(ledger, "20261129-180000-tp1-x3yz", "tp1@b", "up")

    hosts, name = meant(inventory, ledger, None, "20261129-1719", nobody)

    assert ([host.name for host in hosts], name) == (["a"], "20261129-1719")


def test_a_name_that_was_never_made_from_here_is_said_to_be_so(inventory: Inventory, ledger: Ledger) -> None:
    with pytest.raises(InputError, match="no deployment tp9 was made from here"):
        meant(inventory, ledger, None, "tp9", nobody)
    with pytest.raises(InputError, match="no deployment was made from here"):
        all_meant(inventory, ledger, None, None)


def test_where_all_was_stopped_the_last_run_and_how_it_went_are_named(inventory: Inventory, ledger: Ledger) -> None:
    note(ledger, "2026-1", "tp2@a", "up")
    ledger.close("2026-1", "lost", "TP1 on a died\nand more", 2.0)
    ledger.stop("2026-1", "stopped", 3.0)

    with pytest.raises(InputError, match=r"nothing is left of tp2@a.*\(run 2026-1, lost: TP1 on a died\)"):
        all_meant(inventory, ledger, None, None)
