"""stop: main alone first, then exactly what is ours, and nothing that only has a number of ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from roles.onhost.proc import boot_id, stat
from tests.onhost.driver import OnHost, eventually, free_port, session_of


def plant(host: OnHost, pid: int, **changed: Any) -> Path:
    """A run folder that claims this process as its leader."""
    folder = host.workdir / "runs/claimed"
    folder.mkdir(parents=True)
    seen = stat(pid)
    assert seen is not None
    state = {
        "run": "claimed",
        "deployment": "tiny@here",
        "started": time.time(),
        "boot": boot_id(),
        "leader": {"pid": pid, "start": seen.start},
        "session": seen.session,
        **changed,
    }
    (folder / "state.json").write_text(json.dumps(state))
    return folder


@pytest.fixture
def stranger() -> Any:
    """Somebody else's process, leader of its session."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_sigterm_goes_to_main_alone_and_the_exit_status_is_told(host: OnHost) -> None:
    port = free_port()
    started = host.start_server(port=port, ports=[port], options="--bind-after 0")
    frames = host.frames("stop", run="r1", grace=20, wait=10)
    stopped = frames[-2]
    log = Path(started["log"]).read_text()
    assert (stopped["f"], stopped["exit"], stopped["left"], stopped["port_holder"]) == ("stopped", 0, [], None)
    assert "SIGTERM received" in log and "bye" in log and "was sent SIGTERM" not in log
    assert next(frame["what"] for frame in frames if frame["f"] == "stopping") == "term main"
    assert not session_of(started)


def test_a_stop_closes_the_books_and_takes_the_secrets_away(host: OnHost) -> None:
    started = host.start_server(secrets={"A": "b"})
    host.frames("stop", run="r1", grace=20, wait=10)
    assert not Path(started["run_dir"], "secrets.env").exists()
    assert [frame["f"] for frame in host.frames("status")] == ["hello", "end"]
    told = host.one("status", "run", all=True)
    assert told["stopped"]["exit"] == 0 and not told["alive"] and told["crash"] is None


def test_a_group_that_ignores_sigterm_is_killed_after_the_grace(host: OnHost) -> None:
    started = host.start_server(options="--ignore-term")
    stopped = host.one("stop", "stopped", run="r1", grace=1, wait=10)
    assert 1 <= stopped["seconds"] < 4 and stopped["left"] == [] and not session_of(started)
    # Main is killed first; a rank that dies with it before its turn had not to be killed.
    assert "standin.py" in stopped["killed"][0]["title"]
    assert stopped["exit"] == 137  # the shell was left to write it down
    assert "was sent SIGTERM" not in Path(started["log"]).read_text()


def test_kill_skips_the_asking(host: OnHost) -> None:
    started = host.start_server(options="--ignore-term")
    stopped = host.one("stop", "stopped", run="r1", sig="kill", grace=60, wait=10)
    assert stopped["seconds"] < 3 and not session_of(started)


def test_orphans_of_a_killed_main_are_found_and_ended(host: OnHost) -> None:
    started = host.start_server(options="--orphans")
    os.kill(host.run()["main"], signal.SIGKILL)
    eventually(lambda: not host.run()["alive"])
    assert len(session_of(started)) == 3  # given to PID 1, with no leader any more
    stopped = host.one("stop", "stopped", run="r1", grace=5, wait=10)
    assert len(stopped["killed"]) == 3 and not session_of(started)


def test_orphans_are_found_though_nobody_has_written_them_down(host: OnHost) -> None:
    started = host.start("sleep 60 & sleep 61 & true")
    eventually(lambda: host_exit(started) == 0)
    eventually(lambda: len(session_of(started)) == 2)  # the shell itself may be a moment behind its word
    assert len(host.one("stop", "stopped", run="r1", grace=5, wait=10)["killed"]) == 2
    assert not session_of(started)


def host_exit(started: dict[str, Any]) -> int | None:
    path = Path(started["run_dir"], "exit")
    return int(path.read_text()) if path.exists() else None


def test_what_forks_while_it_is_killed_does_not_get_away(host: OnHost) -> None:
    started = host.start("bash -c 'trap \"\" TERM; for i in $(seq 300); do sleep 60 & sleep 0.01; done; wait'")
    time.sleep(0.3)
    stopped = host.one("stop", "stopped", run="r1", grace=0.3, wait=10)
    assert stopped["left"] == [] and not session_of(started)


@pytest.mark.parametrize("wrong", ["start", "boot"])
def test_a_process_that_only_has_our_number_is_not_touched(host: OnHost, stranger: Any, wrong: str) -> None:
    leader = {"pid": stranger.pid, "start": 1}
    plant(host, stranger.pid, **({"leader": leader} if wrong == "start" else {"boot": "another boot"}))
    stopped = host.one("stop", "stopped", run="claimed", grace=1, wait=1)
    assert stopped["killed"] == [] and stranger.poll() is None


def test_a_session_that_only_has_our_number_is_not_touched(host: OnHost) -> None:
    shell = subprocess.Popen(["bash", "-c", "sleep 60 & exec sleep 0.2"], start_new_session=True)
    plant(host, shell.pid, leader={"pid": shell.pid, "start": 1})
    shell.wait()  # its leader is gone: a session of strangers remains
    stopped = host.one("stop", "stopped", run="claimed", grace=1, wait=1)
    assert stopped["killed"] == []
    os.killpg(shell.pid, signal.SIGKILL)  # raises if it was not there any more


def test_a_run_that_is_gone_already_is_stopped_at_once(host: OnHost) -> None:
    host.start("false")
    eventually(lambda: not host.run()["alive"])
    stopped = host.one("stop", "stopped", run="r1", grace=30, wait=30)
    assert stopped["seconds"] < 1 and stopped["killed"] == [] and stopped["exit"] == 1
    assert host.one("stop", "stopped", run="r1", grace=30, wait=30)["seconds"] < 1


def test_a_stop_is_finished_though_nobody_listens_any_more(host: OnHost) -> None:
    started = host.start_server(options="--ignore-term")
    process = host.popen("stop", run="r1", grace=1, wait=10)
    assert process.stdout is not None and b"hello" in process.stdout.readline()
    process.stdout.readline()
    process.stdout.close()
    process.wait(20)
    assert not session_of(started) and host.run()["stopped"]


def test_a_stopped_process_is_ended_too(host: OnHost) -> None:
    started = host.start_server()
    os.kill(host.run()["main"], signal.SIGSTOP)
    assert host.one("stop", "stopped", run="r1", grace=0.5, wait=10)["left"] == []
    assert not session_of(started)


def test_a_stop_waits_until_the_driver_has_given_the_memory_back(host: OnHost, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f"""#!/bin/sh
        echo >> {tmp_path}/asked
        left=$((17966 - 6000 * $(wc -l < {tmp_path}/asked)))
        [ $left -gt 0 ] || left=0
        echo "1, NVIDIA H200, GPU-b, 143771, $left"; echo "0, NVIDIA H200, GPU-a, 143771, 99999"
        """
    )
    program.chmod(0o755)
    host.environment["PATH"] = f"{tmp_path}:{host.environment['PATH']}"
    host.start_server(gpus=[1])
    frames = host.frames("stop", run="r1", grace=20, wait=10)
    assert "wait gpu" in [frame["what"] for frame in frames if frame["f"] == "stopping"]
    assert len((tmp_path / "asked").read_text()) == 4  # 11966, 5966, 0, 0: it falls no more


def test_an_unknown_run_is_named(host: OnHost) -> None:
    error = host.error("stop", run="nowhere")
    assert error["code"] == "missing" and "nowhere" in error["message"]


def test_forget_takes_a_stopped_run_away_but_for_its_log(host: OnHost) -> None:
    started = host.start_server()
    assert host.error("forget", run="r1")["code"] == "refused"
    host.frames("stop", run="r1", grace=20, wait=10)
    host.one("forget", "forgotten", run="r1")
    assert [path.name for path in Path(started["run_dir"]).iterdir()] == ["server.log"]
    assert host.error("status", run="r1")["code"] == "missing"
