"""look: what each process does, of our runs and of servers that we never started. Nothing is changed by it."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.onhost.driver import PADDING, STANDIN, Frame, OnHost, eventually, free_port

BURN = "import time; end = time.time() + 60\nwhile time.time() < end: pass"
GROUPS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))


def look(host: OnHost, **fields: Any) -> list[Frame]:
    return host.frames("look", moment=0.2, **fields)


def witness(host: OnHost, **fields: Any) -> Frame:
    (found,) = [frame for frame in look(host, run="r1", foreign=False, **fields) if frame["f"] == "witness"]
    return found


def process(told: Frame, pid: int) -> dict[str, Any]:
    return next(row for row in told["procs"] if row["pid"] == pid)


def test_every_process_is_told_with_its_state_and_what_it_used_meanwhile(host: OnHost) -> None:
    host.start_server()
    pid = host.run()["ranks"][0]["pid"]

    told = witness(host)

    row = process(told, pid)
    assert (row["title"], row["state"], row["threads"], row["cpu"]) == ("sglang::scheduler_TP0", "S", 1, 0.0)
    assert row["wchan"] or row["stack"] is None or row["stack"]
    assert row["read_all_rate"] is not None and row["written_rate"] == 0
    assert told["ours"] and told["main"] == host.run()["main"]
    assert told["log_bytes"] > 0 and told["log_age"] >= 0 and told["log_free_mib"] > 0
    assert told["oom_kills"] in (0, None)


def test_a_stopped_process_is_told_by_its_letter(host: OnHost) -> None:
    host.start_server()
    pid = host.run()["ranks"][1]["pid"]
    os.kill(pid, signal.SIGSTOP)

    assert eventually(lambda: process(witness(host), pid)["state"] == "T")
    os.kill(pid, signal.SIGCONT)


def test_a_process_that_computes_is_told_by_its_share_of_a_core(host: OnHost) -> None:
    host.start(f"{shlex.quote(sys.executable)} -c {shlex.quote(BURN)}")
    pid = eventually(lambda: host.run()["main"])

    assert eventually(lambda: process(witness(host), pid)["cpu"] > 0.1)


def test_a_compiler_below_the_server_is_named(host: OnHost, tmp_path: Path) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.symlink_to("/bin/sleep")
    host.start(f"bash -c '{nvcc} 60 & wait'")
    eventually(lambda: any("nvcc" in row["title"] for row in host.run()["procs"]))

    assert [row["compiler"] for row in witness(host)["procs"] if row["compiler"]] == ["nvcc"]


def test_the_log_is_told_from_its_beginning_and_its_end(host: OnHost) -> None:
    host.start("echo first; head -c 4000000 /dev/zero | tr '\\0' x; echo; echo last; sleep 60")
    eventually(lambda: (host.run()["log_bytes"] or 0) > 4_000_000)

    frames = [frame for frame in look(host, run="r1", foreign=False) if frame["f"] == "log"]

    assert frames[0]["text"].startswith("first\n")
    assert frames[-1]["text"].endswith("\nlast\n")
    assert sum(frame["to"] - frame["from"] for frame in frames) < 3_200_000


def test_a_server_that_was_never_started_here_is_found_by_its_command_line(host: OnHost, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "theirs.log"
    titles = "sglang::scheduler_TP0,sglang::scheduler_TP1"
    words = [str(STANDIN), "--titles", titles, "--port", str(port), "--bind-after", "0", PADDING]
    script = tmp_path / "sglang" / "launch_server.py"
    script.parent.mkdir()
    script.symlink_to(STANDIN)
    with log.open("w") as out:
        theirs = subprocess.Popen([sys.executable, str(script), *words[1:]], stdout=out, stderr=out)
    try:
        told = eventually(lambda: _complete(host, theirs.pid))
        assert (told["ours"], told["run"], told["log"]) == (False, None, str(log))
        assert told["port"]["holder"]["pid"] == theirs.pid and told["port"]["holder"]["ours"]
        assert told["health"] in (200, 503)
        assert theirs.poll() is None
    finally:
        theirs.kill()
        theirs.wait()


def _complete(host: OnHost, main: int) -> Frame | None:
    found = [frame for frame in look(host) if frame["f"] == "witness" and frame["main"] == main]
    for frame in found:
        ranks = [row for row in frame["procs"] if row["title"].startswith("sglang::scheduler")]
        if len(ranks) == 2 and (frame["port"]["holder"] or {}).get("ours"):
            return frame
    return None


def test_our_own_runs_are_no_strangers_and_nothing_is_written(host: OnHost) -> None:
    started = host.start_server()
    before = {path: path.stat().st_mtime_ns for path in host.workdir.rglob("*")}

    told = [frame for frame in look(host) if frame["f"] == "witness" and frame["ours"]]

    assert [frame["run"] for frame in told] == ["r1"]
    pids = {row["pid"] for row in told[0]["procs"]}
    assert started["leader"]["pid"] in pids
    strangers = [frame for frame in look(host) if frame["f"] == "witness" and not frame["ours"]]
    assert not pids & {row["pid"] for frame in strangers for row in frame["procs"]}
    assert {path: path.stat().st_mtime_ns for path in host.workdir.rglob("*")} == before


def test_a_shell_or_an_editor_with_sglang_in_its_words_is_no_server(host: OnHost) -> None:
    words = subprocess.Popen(["bash", "-c", "sleep 60; : python -m sglang.launch_server"])
    try:
        mains = [frame["main"] for frame in look(host) if frame["f"] == "witness"]
        assert words.pid not in mains
    finally:
        words.kill()
        words.wait()


@contextlib.contextmanager
def group(limit: int) -> Iterator[Path]:
    """A memory control group with a limit in bytes."""
    folder = next((made for root in GROUPS if (made := _made(root, limit))), None)
    if folder is None:
        pytest.skip("no memory control group can be made here")
    try:
        yield folder
    finally:
        eventually(lambda: not (folder / "cgroup.procs").read_text())
        folder.rmdir()


def _made(root: Path, limit: int) -> Path | None:
    folder = root / f"allranks-test-{os.getpid()}-{time.monotonic_ns()}"
    name = "memory.limit_in_bytes" if root.name == "memory" else "memory.max"
    try:
        folder.mkdir()
        (folder / name).write_text(str(limit))
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return None
    return folder


def test_a_kill_for_lack_of_memory_is_proven_by_the_groups_count_and_the_kernels_log(
    host: OnHost, tmp_path: Path
) -> None:
    with group(80 << 20) as folder:
        inside = tmp_path / "python-in-group"
        inside.write_text(f'#!/bin/sh\necho $$ >{folder}/cgroup.procs\nexec {host.python} "$@"\n')
        inside.chmod(0o755)
        outside, host.python = host.python, str(inside)
        host.start(f"{shlex.quote(sys.executable)} -c 'x = b\"x\" * (300 << 20)'")
        host.python = outside
        eventually(lambda: host.run()["exit"] == 137)

        frames = look(host, run="r1", foreign=False)

    (told,) = [frame for frame in frames if frame["f"] == "witness"]
    kernel = next(frame for frame in frames if frame["f"] == "host")["kernel"]
    assert told["oom_kills"] == 1
    assert told["memory"]["limit_mib"] == 80
    if kernel["readable"]:
        line = [line for line in kernel["lines"] if line["kind"] == "oom" and line["t"] >= told["started"] - 1][-1]
        assert "Killed process" in line["text"] and line["name"].startswith("python")
