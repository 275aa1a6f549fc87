"""Sample outputs on the pages are what the commands print today (lab hosts, with a stand-in for SGLang)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from roles.lab.host import LabHost
from tests.docs.samples import not_printed, not_shown, samples
from tests.hosts.clone import INV, REPOSITORY, Clone

DEPLOY = "inv deploy --host lab --profile tiny-tp2pp2"
OTHER = "inv deploy --host lab --profile tiny-tp1 --set port=31010"


@pytest.mark.hosts
def test_what_a_page_shows_of_a_command_is_what_it_prints(
    hosts: list[LabHost], new_clone: Callable[[str], Clone]
) -> None:
    clone = new_clone("samples").hosts(hosts).profile("tiny-tp2pp2", 31010).profile("tiny-tp1", 31000)
    clone.ok(*DEPLOY.split()[1:])
    unchanged = next(lines for _, lines in samples(DEPLOY) if "unchanged" in lines[-1])
    up = next(lines for _, lines in samples("inv status") if " up " in lines[1])
    ((_, refused),) = samples(OTHER)
    ((_, stopped),) = samples("inv teardown")

    for command, lines in ((DEPLOY, unchanged), ("inv status", up), (OTHER, refused)):
        said = clone.inv(*command.split()[1:]).said
        assert (command, not_printed(lines, said), not_shown(lines, said)) == (command, [], [])
    asked, _, over, _ = stopped  # whether it is seen to wait, and with which status a server ends, is another each time
    assert not_printed([asked, over], clone.ok("teardown").said) == []


def test_what_a_page_shows_of_a_log_file_is_what_is_printed() -> None:
    command = "inv logs --file tests/logs/cpu-0.5.23-tp2pp2-rank-killed-up.log"
    done = subprocess.run([INV, *command.split()[1:]], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    said = done.stdout.replace(str(REPOSITORY), "/home/ada/allranks")

    ((_, lines),) = samples(command)
    assert (not_printed(lines, said), not_shown(lines, said)) == ([], [])
