"""The sample outputs of a whole deploy on the pages are what the real SGLang's one prints."""

from __future__ import annotations

import pytest

from roles.lab.host import LabHost
from tests.docs.samples import not_printed, not_shown, samples
from tests.hosts import seen
from tests.hosts.clone import Clone, Lines
from tests.sglang.real import UP

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]
DEPLOY = "inv deploy --host lab --profile tiny-tp2pp2"


def test_a_deploy_and_a_loss_print_what_the_pages_show_of_them(clone: Clone, real: list[LabHost]) -> None:
    up = clone.ok(*DEPLOY.split()[1:], timeout=UP)
    logs = clone.ok("logs", "--lines", "0")
    watching = Lines(clone.start("watch"))
    watching.until("generation: 200")
    seen.kill(seen.titled(real[0], "sglang::scheduler_PP1_TP0"))
    watching.until("what was left of it is stopped")

    shown = [(page, lines) for page, lines in samples(DEPLOY) if any(" is up: " in line for line in lines)]
    assert {page for page, _ in shown} == {"README.md", "deploy.md"}
    for page, lines in shown:
        assert (page, not_printed(lines, up.said)) == (page, [])
        assert (page, not_shown(lines, up.out)) == (page, [])
    ((_, lines),) = samples("inv logs --lines 12")
    assert not_printed(lines, logs.out) == []
    ((_, lines),) = samples("inv watch")
    assert not_printed([line for line in lines if not line.startswith("lab: ")], "\n".join(watching.said)) == []
