"""The sample outputs of a whole deploy on the pages are what the real SGLang's one prints."""

from __future__ import annotations

import pytest

from roles.lab.host import LabHost
from tests.docs.samples import not_printed, not_shown, samples
from tests.hosts.clone import Clone
from tests.sglang.real import UP

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]
DEPLOY = "inv deploy --host lab --profile tiny-tp2pp2"


def test_a_deploy_prints_what_the_pages_show_of_it(clone: Clone, real: list[LabHost]) -> None:
    up = clone.ok(*DEPLOY.split()[1:], timeout=UP)
    logs = clone.ok("logs", "--lines", "0")
    clone.ok("teardown", timeout=120)

    shown = [(page, lines) for page, lines in samples(DEPLOY) if any(" is up: " in line for line in lines)]
    assert {page for page, _ in shown} == {"README.md", "deploy.md"}
    for page, lines in shown:
        assert (page, not_printed(lines, up.said)) == (page, [])
        assert (page, not_shown(lines, up.out)) == (page, [])
    ((_, lines),) = samples("inv logs --lines 12")
    assert not_printed(lines, logs.out) == []
