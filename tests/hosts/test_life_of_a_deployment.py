"""deploy, status, logs, teardown on a real sshd; the server is a stand-in that speaks real SGLang's lines."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.clone import Clone, Lines, eventually, finished
from tests.hosts.labs import disk

pytestmark = pytest.mark.hosts
FOUR = ("PP0 TP0", "PP0 TP1", "PP1 TP0", "PP1 TP1")
SMALL = ("deploy", "--host", "lab", "--profile", "small")


def test_deploy_ends_when_every_rank_has_answered_and_a_second_one_changes_nothing(clone: Clone, host: LabHost) -> None:
    up = clone.ok(*SMALL)
    assert all(f"{rank}  " in up.err for rank in FOUR), up.err  # a line for each change where there is no terminal
    assert "small@lab is up: 4 ranks answered" in up.out
    assert "inv teardown" in up.out
    before = seen.processes(host)

    again = clone.ok(*SMALL)

    assert "unchanged" in again.out and "--restart" in again.out
    assert seen.processes(host) == before
    assert clone.ok(*SMALL, "--json").json["already"] is True


def test_each_run_leaves_a_folder_on_the_host_and_a_record_here(clone: Clone, host: LabHost) -> None:
    report = clone.ok(*SMALL, "--json").json

    run, folder = report["run"], seen.run_folder(host, report["run"])
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert (modes["launch.sh"], modes["secrets.env"]) == (0o700, 0o600)
    assert folder.stat().st_mode & 0o777 == 0o700
    state = seen.runs(host)[run]
    assert (state["deployment"], state["who"].partition("@")[0]) == ("small@lab", "ada")
    record = json.loads((clone.root / f"runs/{run}/record.json").read_text())
    assert (record["result"], record["plan_hash"]) == ("up", state["plan_hash"])
    kept = (clone.root / f"runs/{run}/node0.log").read_text()
    assert (folder / "server.log").read_text().startswith(kept)
    assert "fired up" in kept


def test_restart_starts_it_anew(clone: Clone, host: LabHost) -> None:
    first = clone.ok(*SMALL, "--json").json["run"]
    (old,) = seen.mains(host)

    second = clone.ok(*SMALL, "--restart", "--json").json["run"]

    assert second != first
    assert old not in seen.mains(host)
    assert len(seen.servers(host)) == 7  # script, main, four ranks, detokenizer


def test_a_changed_plan_replaces_what_runs(clone: Clone, host: LabHost) -> None:
    clone.ok(*SMALL)

    clone.ok(*SMALL, "--set", "flags.max_running_requests=8")

    (main,) = seen.mains(host)
    argv = seen.cmdline(main)
    assert argv[argv.index("--max-running-requests") + 1] == "8"


def test_another_deployment_of_ours_on_the_port_is_refused_and_replaced_only_when_told(
    clone: Clone, host: LabHost, port: int
) -> None:
    first = clone.profile("other", port).ok("deploy", "--host", "lab", "--profile", "other", "--json").json["run"]
    (before,) = seen.mains(host)

    refused = clone.inv(*SMALL)

    assert refused.code == 3
    assert f"port {port}" in refused.err
    assert "other@lab" in refused.err
    assert "--replace" in refused.err
    assert seen.mains(host) == [before]
    assert list(seen.runs(host)) == [first]

    clone.ok(*SMALL, "--replace")
    (main,) = seen.mains(host)
    assert main != before


def test_a_secret_reaches_the_server_and_nothing_else(clone: Clone, host: LabHost, port: int) -> None:
    secret = "s3cr3t $HOME 'quoted' \"twice\" `x` \\ end"
    clone.profile("small", port, secrets={"API_TOKEN": "env:TOKEN_HERE"})
    missing = clone.inv(*SMALL)
    assert (missing.code, seen.runs(host)) == (2, {})
    assert "env:TOKEN_HERE" in missing.err
    clone.environment["TOKEN_HERE"] = secret

    said = clone.ok(*SMALL).said + clone.ok("status").said + clone.ok("logs", "--lines", "0").said

    (main,) = seen.mains(host)
    assert seen.environment(main)["API_TOKEN"] == secret
    argvs = [" ".join(argv) for argv in seen.processes(host).values()]
    holders = [path for root in (disk(host), clone.root / "runs") for path in files(root) if holds(path, "s3cr3t")]
    assert [path.name for path in holders] == ["secrets.env"]
    assert not any("s3cr3t" in text for text in [*argvs, said, clone.ok("show", *SMALL[1:]).said])


def files(root: Path) -> list[Path]:
    """Every file in a folder."""
    return [path for path in root.rglob("*") if path.is_file()]


def holds(path: Path, text: str) -> bool:
    """Whether a file has this text in it."""
    return text.encode() in path.read_bytes()


def test_status_logs_and_teardown_work_from_a_clone_that_deployed_nothing(
    clone: Clone, new_clone: Callable[[str], Clone], hosts: list[LabHost], port: int
) -> None:
    run = clone.ok(*SMALL, "--json").json["run"]
    colleague = new_clone("colleague").hosts(hosts)

    unclear = colleague.inv("status")
    (row,) = colleague.ok("status", "--host", "lab", "--json").json["deployments"]
    logs = colleague.ok("logs", "--host", "lab", "--lines", "0")
    down = colleague.ok("teardown", "--host", "lab")

    assert unclear.code == 2
    assert "--host" in unclear.err
    assert (row["run"], row["state"], row["living"], row["health"]) == (run, "up", 4, 200)
    assert "fired up and ready to roll" in logs.out
    assert "stopped" in down.out
    assert seen.servers(hosts[0]) == []


def test_status_asks_every_host_of_the_inventory_once(clone: Clone, hosts: list[LabHost]) -> None:
    clone.ok(*SMALL)

    told = clone.ok("status", "--all", "--json").json

    assert [row["deployment"] for row in told["deployments"]] == ["small@lab"]
    assert told["silent"] == {}


def test_logs_can_be_had_by_rank_by_number_of_lines_and_by_time(clone: Clone) -> None:
    clone.ok(*SMALL)

    of_rank = clone.ok("logs", "--rank", "pp1 tp0", "--lines", "0").out.splitlines()
    last = clone.ok("logs", "--lines", "3").out.splitlines()
    recent = clone.ok("logs", "--since", "10m", "--json").out.splitlines()
    none = clone.ok("logs", "--since", "2099-01-01 00:00:00").out
    wrong = clone.inv("logs", "--rank", "PP3TP9")

    assert len(of_rank) == 31
    assert all(line.startswith("lab PP1 TP0 ") for line in of_rank)
    assert len(last) == 3
    assert "ready to roll" in last[-1]
    assert {json.loads(line)["rank"] for line in recent} >= set(FOUR)
    assert none == ""
    assert wrong.code == 2
    assert "PP0 TP0, PP0 TP1, PP1 TP0, PP1 TP1" in wrong.err


def test_following_ends_with_ctrl_c_and_leaves_nothing_on_the_host(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_CHATTER": "0.1"})
    clone.ok(*SMALL)
    following = clone.start("logs", "--follow", "--lines", "1")
    lines = Lines(following)
    came = [lines.next() for _ in range(20)]  # more than the last one: they come as they are written
    assert all("#new-token" in line for line in came[1:])
    assert len(seen.onhosts(host)) == 1

    os.killpg(following.pid, signal.SIGINT)

    assert following.wait(20) == 0
    eventually(lambda: not seen.onhosts(host))
    assert len(seen.mains(host)) == 1


def test_teardown_of_a_server_that_ignores_sigterm_kills_it_and_a_second_one_has_nothing_to_do(
    clone: Clone, host: LabHost, port: int
) -> None:
    clone.profile("small", port, environment={"STANDIN_DEAF": "1"}, timeouts={"stop": 1})
    clone.ok(*SMALL)

    down = clone.ok("teardown", "--json").json

    assert down["nodes"]["lab"]["killed"]  # main at least: its children die with it
    assert seen.servers(host) == []
    again = clone.inv("teardown", "--host", "lab")
    assert again.code == 2
    assert "nothing of ours runs there" in again.err
    assert clone.ok("status", "--host", "lab").out.startswith("nothing of ours runs on lab")


def test_a_teardown_ends_only_its_own_deployment(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("other", port + 200)
    one = clone.start(*SMALL)
    other = clone.ok("deploy", "--host", "lab", "--profile", "other", "--json").json["run"]
    assert finished(one).code == 0
    assert len(clone.ok("status", "--host", "lab", "--json").json["deployments"]) == 2
    unclear = clone.inv("teardown", "--host", "lab")
    assert unclear.code == 2
    assert "small@lab" in unclear.err

    clone.ok("teardown", "--name", "small@lab")

    (left,) = clone.ok("status", "--host", "lab", "--json").json["deployments"]
    assert (left["run"], left["state"]) == (other, "up")
