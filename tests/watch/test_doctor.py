"""The witnesses of one server, held against each other: what `inv doctor` says of it and how sure it may be."""

from __future__ import annotations

from typing import Any

import pytest

from roles.watch.case import Case
from roles.watch.doctor import Diagnosis, diagnose
from roles.watch.witness import Witness
from tests.watch.frames import text_of

UP = text_of("gpu-0.5.17-tp2-cuda-graphs-up.log")
LOADING = UP[: UP.rindex("Load weight begin") + 40]
RANKS = [{"label": f"TP{tp}", "title": f"sglang::scheduler_TP{tp}", "pid": 11 + tp, "alive": True} for tp in (0, 1)]
OURS = {"pid": 10, "cmdline": "python -m sglang.launch_server", "user": "root", "ours": True}
THEIRS = {"pid": 4121, "cmdline": "python -m http.server", "user": "bob", "ours": False}
IDLE = {"state": "S", "cpu": 0.0, "read_all_rate": 0, "wchan": "futex_wait_queue", "rss_mib": 100}
OOM = "Out of memory: Killed process 12 (sglang::schedul) total-vm:1kB"


def process(pid: int, title: str = "", **more: Any) -> dict[str, Any]:
    return {"pid": pid, "ppid": 10, "title": title or f"sglang::scheduler_TP{pid - 11}", **IDLE, **more}


def told(**more: Any) -> dict[str, Any]:
    main = process(10, "python -m sglang.launch_server")
    fields = {
        "ours": True, "run": "r1", "deployment": "tp2@a", "node": 0, "main": 10, "up": 900.0, "started": 800.0,
        "procs": [main, process(11), process(12)], "ranks": RANKS, "gpus": [0, 1], "exit": None, "crash": None,
        "port": {"port": 8000, "holder": OURS}, "health": 200, "log": "/w/server.log", "log_age": 1.0,
    }  # fmt: skip
    return {**fields, **more}


def about(used: int = 70_000, before: int | None = None, **more: Any) -> dict[str, Any]:
    gpu = {"total_mib": 80_000, "used_mib": used, "before_mib": used if before is None else before, "power_w": 34}
    return {"gpus": [{"index": index, "utilization": 0, **gpu} for index in (0, 1)], **more}


def said(log: str = UP, machine: dict[str, Any] | None = None, **more: Any) -> Diagnosis:
    return diagnose(Case("tp2@a", (Witness("a", told(**more), about() if machine is None else machine, log),)))


DEAD: dict[str, Any] = {"procs": [], "main": None, "port": {"port": 8000, "holder": None}, "health": None}


def test_a_server_of_which_every_witness_speaks_well_is_up() -> None:
    found = said()

    assert (found.state, found.findings) == ("up", ())
    assert found.sentence == "up: 2 ranks alive, /health answers 200"


def test_a_log_that_ends_in_200s_without_a_process_was_stopped_from_outside() -> None:
    found = said(machine=about(0), **DEAD)

    assert found.state == "lost"
    assert found.sentence == (
        "log ends in served requests at 16:40:15, no process, 0 MiB, 34 W: stopped from outside, not crashed"
    )


def test_a_health_of_200_does_not_hide_a_rank_that_is_gone() -> None:
    found = said(procs=told()["procs"][:2])

    assert found.state == "lost"
    assert found.sentence == "health answers 200, but the process of TP1 on a is gone (it was pid 12)"


def test_a_silent_process_is_told_with_what_it_does_and_its_flat_gpu() -> None:
    found = said(LOADING, about(700), up=None, health=None, log_age=720.0, port={"port": 8000, "holder": None})

    assert found.state == "stalled"
    assert found.sentence == (
        "TP0 on a: log silent for 12 min since weights loading; its process sleeps in futex_wait_queue, "
        "uses no CPU, reads nothing, GPU 0 stays at 700 MiB"
    )
    assert found.findings[0].do == "this stage waits for the disk or the network that the weights come from"


def test_a_silent_process_that_reads_is_no_stall() -> None:
    procs = [process(10, "main"), *(process(pid, read_all_rate=9e8, cpu=0.4) for pid in (11, 12))]
    found = said(LOADING, up=None, health=None, log_age=720.0, procs=procs)

    assert found.state == "loading"
    assert "uses 0.4 cores, reads 900 MB/s" in found.findings[0].sentence


def test_a_compiler_below_it_is_told() -> None:
    nvcc = process(13, "/usr/local/cuda/bin/nvcc -c x.cu", compiler="nvcc", age_s=61.0)
    found = said(LOADING, up=None, health=None, procs=[*told()["procs"], nvcc])

    assert (found.state, found.findings[0].id) == ("loading", "compiling")
    assert found.findings[0].sentence == "kernels are being compiled on a: nvcc, for 61 s"


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"state": "T"}, "TP0 on a is stopped by a signal (state T, pid 11)"),
        ({"state": "D", "wchan": "rpc_wait_bit"}, "TP0 on a waits in the kernel (state D, rpc_wait_bit, pid 11)"),
    ],
)
def test_a_rank_that_cannot_run_is_told_by_its_state(row: dict[str, Any], sentence: str) -> None:
    found = said(procs=[process(10, "main"), process(11, **row), process(12)])

    assert (found.state, found.sentence) == ("lost", sentence)


def test_a_port_that_a_stranger_holds_is_told_though_the_log_says_ready() -> None:
    found = said(up=None, health=None, port={"port": 8000, "holder": THEIRS})

    assert found.state == "foreign"
    assert found.sentence == (
        "ready in the log, but port 8000 on a belongs to pid 4121 of bob (python -m http.server), not to this server"
    )


def test_137_alone_is_never_called_an_out_of_memory_kill() -> None:
    assert "memory" not in said(exit=137, machine=about(0), **DEAD).sentence


def test_the_kernels_log_proves_an_out_of_memory_kill() -> None:
    lines = [{"t": 950.0, "kind": "oom", "pid": 12, "name": "sglang::schedul", "text": OOM}]
    found = said(exit=137, machine=about(0, kernel={"lines": lines}), **DEAD)

    assert found.sentence == f"the kernel killed TP1 on a for lack of memory: {OOM}"
    assert found.state == "lost"


def test_a_kill_of_somebody_else_or_of_earlier_proves_nothing() -> None:
    other = {"t": 950.0, "kind": "oom", "pid": 77, "name": "java", "text": "Killed process 77 (java)"}
    earlier = {"t": 100.0, "kind": "oom", "pid": 12, "name": "python", "text": "Killed process 12 (python)"}

    assert "memory:" not in said(machine=about(0, kernel={"lines": [other, earlier]}), **DEAD).sentence


@pytest.mark.parametrize(
    ("name", "t", "proven"), [("python", 949.0, True), ("python", 930.0, False), ("java", 949.0, False)]
)
def test_in_a_container_the_kernels_pid_is_another_one_and_name_and_time_must_do(
    name: str, t: float, proven: bool
) -> None:
    line = {"t": t, "kind": "oom", "pid": 990_012, "name": name, "text": f"Killed process 990012 ({name})"}
    found = said(exit=137, ended=950.0, machine=about(0, kernel={"lines": [line]}), **DEAD)

    assert ("for lack of memory" in found.sentence) == proven


def test_the_groups_own_count_proves_it_too() -> None:
    found = said(oom_kills=1, memory={"limit_mib": 2048}, machine=about(0), **DEAD)

    assert found.sentence == (
        "the kernel killed for lack of memory: 1 since the start in the control group of the server on a "
        "(limit 2,048 MiB), by its own count"
    )


def test_children_that_outlive_main_are_named() -> None:
    found = said(main=None, procs=[process(11), process(12)], port={"port": 8000, "holder": None}, health=None)

    assert (found.state, found.findings[0].id) == ("lost", "orphans")
    assert "sglang::scheduler_TP0 (pid 11)" in found.sentence


def test_a_health_that_does_not_answer_names_the_ranks_that_spin() -> None:
    found = said(health=503, procs=[process(10, "main"), process(11, cpu=1.0), process(12)])

    assert found.state == "lost"
    assert found.sentence == (
        "every process lives, but /health on a answers 503; TP0 on a use a whole core: they spin while they wait for "
        "another one"
    )


def test_a_full_disk_is_said_to_be_why_the_log_ends() -> None:
    assert any(finding.id == "disk-full" for finding in said(log_free_mib=0).findings)


def test_a_gpu_that_fell_off_the_bus_is_told() -> None:
    line = {"t": 950.0, "kind": "xid", "number": 79, "text": "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off"}

    assert any(finding.id == "xid" for finding in said(machine=about(kernel={"lines": [line]})).findings)


def test_a_host_that_does_not_answer_makes_a_deployment_that_was_up_a_lost_one() -> None:
    found = diagnose(Case("tp2@a,b", (Witness("a", told(), about(), UP),), {"b": "nothing came back"}))

    assert (found.state, found.findings[0].sentence) == ("lost", "b did not answer: nothing came back")


def test_a_server_that_allranks_never_started_is_told_by_its_command_line_where_it_has_no_log() -> None:
    rows = [process(10, "python -m sglang.launch_server"), process(11), process(12)]
    stranger = {"ours": False, "main": 10, "tp": 2, "pp": 1, "dp": 1, "nnodes": 1, "procs": rows, "health": 200}
    stranger["port"] = {"port": 8000, "holder": OURS}

    found = diagnose(Case("x", (Witness("a", stranger, about(), ""),)))

    assert (found.state, len(found.case.ranks)) == ("up", 2)
    rows.pop()
    assert "TP1 on a is gone" in diagnose(Case("x", (Witness("a", stranger, about(), ""),))).sentence


def test_a_diagnosis_is_one_object() -> None:
    told_as = said(procs=told()["procs"][:2]).as_json()

    assert (told_as["state"], told_as["log"]["verdict"]) == ("lost", "up")
    assert [rank["process"] is None for rank in told_as["ranks"]] == [False, True]
