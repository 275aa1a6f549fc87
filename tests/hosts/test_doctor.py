"""inv doctor and inv logs --explain on real sshd hosts: of a server that is well, hurt, gone, or not ours."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time

import pytest

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.clone import Clone, eventually, finished

pytestmark = pytest.mark.hosts
SMALL = ("deploy", "--host", "lab", "--profile", "small")


def test_a_server_that_is_well_is_called_up(clone: Clone, host: LabHost) -> None:
    clone.ok(*SMALL)

    said = clone.ok("doctor")

    assert "small@lab: up" in said.out
    assert "4 of 4 ranks" in said.out


def test_a_killed_rank_is_named_though_its_log_may_not_say_so(clone: Clone, host: LabHost) -> None:
    clone.ok(*SMALL)
    seen.kill(seen.titled(host, "sglang::scheduler_PP1_TP0"))
    eventually(lambda: not seen.mains(host))

    said = clone.inv("doctor", "--json")

    assert said.code == 6
    (server,) = said.json["servers"]
    assert server["state"] == "lost"
    assert "PP1 TP0" in server["sentence"], server["findings"]


def test_a_stopped_rank_is_told_by_its_process_state_alone(clone: Clone, host: LabHost) -> None:
    clone.ok(*SMALL)
    pid = seen.titled(host, "sglang::scheduler_PP0_TP1")
    os.kill(pid, signal.SIGSTOP)
    try:
        said = clone.inv("doctor")
    finally:
        os.kill(pid, signal.SIGCONT)

    assert said.code == 6
    assert "PP0 TP1 on lab is stopped by a signal (state T, pid" in said.out
    assert "kill -CONT" in said.out


def test_a_server_killed_from_outside_is_not_said_to_have_crashed(clone: Clone, host: LabHost) -> None:
    clone.ok(*SMALL)
    for pid in [pid for pid, argv in seen.processes(host).items() if "sglang" in " ".join(argv)]:
        with contextlib.suppress(ProcessLookupError):  # main may have ended a child before its turn came
            seen.kill(pid)
    eventually(lambda: not seen.mains(host))

    said = clone.inv("doctor")

    assert said.code == 6
    assert "stopped from outside, not crashed" in said.out, said.said


def test_a_server_that_allranks_never_started_is_described_and_not_touched(
    clone: Clone, host: LabHost, port: int
) -> None:
    words = "-m sglang.launch_server --tp-size 2 --model-path /m --served-model-name x"
    command = f"{host.opt}/venv/bin/python {words} --port {port} >/tmp/theirs.log 2>&1 </dev/null &"
    host.exec(["bash", "-c", command])
    eventually(lambda: "fired up" in (host.home / "tmp/theirs.log").read_text())
    before = seen.processes(host)

    said = clone.inv("doctor", "--host", "lab")

    assert said.code == 0, said.said
    assert "allranks did not start this one" in said.out
    assert "2 of 2 ranks" in said.out
    assert seen.processes(host) == before


def test_the_logs_of_a_deployment_explain_themselves(clone: Clone, host: LabHost) -> None:
    clone.ok(*SMALL)

    told = clone.ok("logs", "--explain", "--json").json

    assert told["verdict"] == "up"
    assert set(told["ranks"].values()) == {"ready"}
    assert told["files"][0].startswith("lab:")


def test_a_stall_says_what_the_silent_processes_are_doing(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_HOLD": "loading"}, timeouts={"stop": 5, "stall": 3})

    said = clone.inv(*SMALL)

    assert said.code == 7, said.said
    assert "nothing has moved for" in said.out
    assert "PP1 TP1 on lab: its process (pid" in said.out
    assert "sleeps in" in said.out
    assert clone.inv("doctor").code == 7
    clone.ok("teardown")


def test_a_stall_of_a_stopped_process_says_so(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_HOLD": "loading"}, timeouts={"stop": 5, "stall": 4})
    deploy = clone.start(*SMALL)
    pid = eventually(lambda: seen.titled(host, "sglang::scheduler_PP1_TP0") if len(seen.servers(host)) > 6 else 0)
    os.kill(pid, signal.SIGSTOP)

    said = finished(deploy)

    assert said.code == 7, said.said
    assert "PP1 TP0 on lab: stopped by a signal (state T" in said.out
    assert "PP1 TP0 on lab: its process (pid" in said.out
    os.kill(pid, signal.SIGCONT)
    clone.ok("teardown")


EIGHT = {"layout": {"tp": 4, "pp": 2}}


def test_eight_ranks_and_the_one_that_is_killed_while_loading_is_named_within_two_seconds(
    clone: Clone, host: LabHost, port: int
) -> None:
    clone.profile("small", port, **EIGHT, environment={"STANDIN_HOLD": "loading"})
    deploy = clone.start(*SMALL)
    heard = _heard(deploy)
    pid = eventually(lambda: _pid(host, "sglang::scheduler_PP1_TP2") if len(seen.servers(host)) == 11 else 0)
    eventually(lambda: "PP1 TP2  process started" in "".join(heard), 20)

    killed = seen.kill(pid)

    eventually(lambda: "PP1 TP2 on lab died" in "".join(heard), 20)
    assert time.time() - killed < 2.5  # two seconds, and half a one for a busy machine
    assert deploy.wait(30) == 5


def test_eight_ranks_that_are_up_and_one_that_is_frozen(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("small", port, **EIGHT).ok(*SMALL)
    assert "8 of 8 ranks" in clone.ok("doctor").out
    pid = seen.titled(host, "sglang::scheduler_PP0_TP3")
    os.kill(pid, signal.SIGSTOP)

    said = clone.inv("doctor", "--json").json["servers"][0]

    assert (said["state"], len(said["ranks"])) == ("lost", 8)
    assert said["sentence"].startswith("PP0 TP3 on lab is stopped by a signal (state T")
    os.kill(pid, signal.SIGCONT)


def _pid(host: LabHost, title: str) -> int:
    return next((pid for pid, argv in seen.processes(host).items() if argv[0] == title), 0)


def _heard(process: subprocess.Popen[str]) -> list[str]:
    """The lines of a command's standard error, as they come."""
    lines: list[str] = []
    assert process.stderr is not None
    threading.Thread(target=lambda stream=process.stderr: lines.extend(iter(stream.readline, "")), daemon=True).start()
    return lines
