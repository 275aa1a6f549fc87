"""status: what stands on a host, also long after, also when a file of it is damaged."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.onhost.driver import OnHost, eventually, free_port


def test_a_serving_run_is_told_with_its_ranks_its_port_and_its_health(host: OnHost) -> None:
    port = free_port()
    host.start_server(("PP0 TP0", "PP1 TP0"), "--bind-after 0", port=port, ports=[port], plan_hash="abc", gpus=[3])
    eventually(lambda: (host.run()["port"]["holder"] or {}).get("ours"))
    told = eventually(lambda: next(iter(r for r in [host.one("status", "run", run="r1", health=True)] if r["health"])))
    assert (told["deployment"], told["plan_hash"], told["who"], told["gpus"]) == ("tiny@here", "abc", "ada@desk", [3])
    assert told["alive"] and told["up"] is None and told["exit"] is None and told["crash"] is None
    assert [(seat["label"], seat["alive"]) for seat in told["ranks"]] == [("PP0 TP0", True), ("PP1 TP0", True)]
    assert told["health"] in (200, 503) and told["log_bytes"] > 0
    assert told["port"]["holder"]["pid"] == told["main"]


def test_a_dead_rank_is_missed_though_main_still_stands(host: OnHost) -> None:
    host.start_server(options="--crash-pause 30")
    victim = host.run()["ranks"][1]["pid"]
    os.kill(victim, signal.SIGKILL)
    told = eventually(lambda: next(iter(r for r in [host.run()] if r["crash"])))
    assert told["alive"] and told["crash"]["label"] == "TP1" and told["crash"]["pid"] == victim
    assert [(seat["label"], seat["pid"], seat["alive"]) for seat in told["ranks"]][1] == ("TP1", victim, False)


def test_health_is_not_asked_of_a_server_with_a_dead_rank(host: OnHost) -> None:
    port = free_port()
    host.start_server(options="--crash-pause 30 --bind-after 0", port=port, ports=[port])
    eventually(lambda: (host.run()["port"]["holder"] or {}).get("ours"))
    os.kill(host.run()["ranks"][0]["pid"], signal.SIGKILL)
    eventually(lambda: host.run()["crash"])
    told = host.one("status", "run", run="r1", health=True)
    assert told["port"]["holder"]["ours"] and told["health"] is None


def test_a_killed_main_is_named_before_the_children_that_die_with_it(host: OnHost) -> None:
    host.start_server()
    following = host.follow()
    main = following.kind("procs")["main"]
    os.kill(main, signal.SIGKILL)
    following.rest()
    assert host.run()["crash"]["pid"] == main and host.run()["crash"]["label"] is None
    assert host.run()["exit"] == 137


def test_a_damaged_state_is_told_and_hides_no_other_run(host: OnHost) -> None:
    host.start("sleep 60")
    broken = host.workdir / "runs/r0"
    broken.mkdir()
    (broken / "state.json").write_text('{"run": "r0", "lead')
    told = {frame["run"]: frame for frame in host.frames("status") if frame["f"] == "run"}
    assert told["r0"]["damaged"] and told["r1"]["alive"]
    assert str(broken) in host.error("stop", run="r0")["message"]
    assert host.start("sleep 60", "r2", deployment="other")


def test_a_host_without_a_workdir_has_no_runs_and_gets_no_folder(host: OnHost) -> None:
    assert [frame["f"] for frame in host.frames("status")] == ["hello", "end"]
    assert not host.workdir.exists()


def test_a_request_that_is_no_json_and_a_verb_that_is_none_are_told(host: OnHost) -> None:
    process = host.popen("status")
    process.communicate(timeout=10)
    process = host.popen("dance")
    out, _ = process.communicate(timeout=10)
    assert process.returncode == 1 and b"'dance'" in out and b"follow" in out


def test_the_home_of_a_tilde_is_the_hosts(host: OnHost, tmp_path: Path) -> None:
    host.environment["HOME"] = str(tmp_path)
    assert host.one("facts", "facts", workdir="~/work")["workdir"] == str(tmp_path / "work")


def test_a_status_is_quick(host: OnHost) -> None:
    host.start_server()
    began = time.monotonic()
    frames = host.frames("status")
    print(f"status: {frames[-1]['t'] - frames[0]['t']:.3f} s of {time.monotonic() - began:.3f} s")
    assert frames[-1]["t"] - frames[0]["t"] < 1


def test_a_run_that_is_over_is_read_once(host: OnHost) -> None:
    started = host.start_server()
    host.frames("stop", run="r1", grace=20, wait=10)
    assert [frame["f"] for frame in host.frames("status")] == ["hello", "end"]
    assert (host.workdir / "over").read_text() == "r1\n"

    Path(started["run_dir"], "state.json").write_text("never looked at again")
    assert [frame["f"] for frame in host.frames("status")] == ["hello", "end"]
    assert host.one("status", "run", all=True)["damaged"]
    (host.workdir / "over").unlink()
    assert host.one("status", "run")["damaged"]
