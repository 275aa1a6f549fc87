"""What is remembered of runs, on a real sshd; the server is a stand-in that speaks real SGLang's lines."""

from __future__ import annotations

from typing import Any

import pytest

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.clone import Clone

pytestmark = pytest.mark.hosts
SMALL = ("deploy", "--host", "lab", "--profile", "small")


def newest(clone: Clone) -> dict[str, Any]:
    """The newest run that `inv history` knows."""
    found: dict[str, Any] = clone.ok("history", "--json").json["runs"][0]
    return found


def test_a_run_that_came_up_is_remembered_with_its_stages_memory_and_script(clone: Clone, host: LabHost) -> None:
    run = clone.ok(*SMALL, "--set", "flags.max_running_requests=8", "--json").json["run"]

    up = newest(clone)
    assert (up["run"], up["result"], up["version"]) == (run, "up", "0.5.23")
    assert up["up_after"] > 0
    assert {"start", "weights", "memory"} <= up["stages"].keys()
    assert up["overrides"] == ["flags.max_running_requests=8"]
    one = clone.ok("report", "--name", run[:20], "--json").json
    assert {"node0.launch.sh", "node0.log"} <= set(one["files"])
    script = (seen.run_folder(host, run) / "launch.sh").read_text()
    assert (clone.root / f"runs/{run}/node0.launch.sh").read_text() == script

    clone.ok("teardown")

    stopped = newest(clone)
    assert (stopped["result"], stopped["up_after"]) == ("stopped", up["up_after"])
    assert stopped["stopped"] >= stopped["started"]
    assert "1 run, 1 came up, after " in clone.ok("report").out


def test_a_failure_stays_one_after_its_teardown_and_is_counted_by_its_cause(clone: Clone, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_EXIT": "3"})
    failed = clone.inv(*SMALL, "--keep", "--json").json["verdict"]

    assert newest(clone)["sentence"] == failed["sentence"]
    clone.inv("teardown")

    assert newest(clone)["result"] == "failed"
    (lesson,) = clone.ok("report", "--json").json["deployments"]
    (cause,) = lesson["causes"]
    assert (lesson["came_up"], cause["runs"], cause["sentence"]) == (0, 1, failed["sentence"])
    assert failed["sentence"] in clone.ok("history").out


def test_what_a_run_was_replaced_by_is_remembered(clone: Clone) -> None:
    first = clone.ok(*SMALL, "--json").json["run"]
    second = clone.ok(*SMALL, "--restart", "--json").json["run"]

    runs = {run["run"]: run for run in clone.ok("history", "--json").json["runs"]}

    assert list(runs) == [second, first]
    assert (runs[first]["result"], runs[second]["result"]) == ("stopped", "up")
    assert second in runs[first]["sentence"]


def test_a_deploy_that_found_no_host_is_remembered_and_is_no_deployment(clone: Clone, host: LabHost) -> None:
    clone.hosts([host], port=1)
    unreached = clone.inv(*SMALL)
    assert unreached.code == 4

    assert (newest(clone)["result"], newest(clone)["deployment"]) == ("unreachable", "small@lab")
    assert clone.inv("status").code == 2  # nothing was made from here


def test_a_deploy_that_was_refused_is_remembered_and_is_no_deployment(clone: Clone, port: int) -> None:
    clone.profile("other", port).ok("deploy", "--host", "lab", "--profile", "other")
    refused = clone.inv(*SMALL)
    assert refused.code == 3

    run = newest(clone)

    assert (run["deployment"], run["result"]) == ("small@lab", "refused")
    assert run["sentence"].splitlines()[0] in refused.err
    assert [row["deployment"] for row in clone.ok("status", "--json").json["deployments"]] == ["other@lab"]
