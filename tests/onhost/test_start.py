"""start: once, recorded, cut off from the login, and never over somebody else."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from roles.onhost.proc import stat
from tests.onhost.driver import SCRIPT, OnHost, eventually, free_port, session_of


def test_a_start_records_the_process_it_made(host: OnHost) -> None:
    started = host.start("sleep 60", port=4711, gpus=[0], plan={"any": "thing"})
    state = json.loads(Path(started["run_dir"], "state.json").read_text())
    seen = stat(started["leader"]["pid"])
    assert seen is not None and seen.start == started["leader"]["start"] == state["leader"]["start"]
    assert seen.session == seen.pid == started["session"]
    assert (state["who"], state["port"], state["gpus"], state["deployment"]) == ("ada@desk", 4711, [0], "tiny@here")
    assert json.loads(Path(started["run_dir"], "plan.json").read_text()) == {"any": "thing"}


def test_what_was_started_inherits_nothing_of_the_login(host: OnHost) -> None:
    leak_out, leak_in = os.pipe()
    os.set_inheritable(leak_in, True)
    host.environment["SSH_CONNECTION"] = "1 2 3 4"
    process = subprocess.Popen(
        [host.python, str(host.program), "start"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=host.environment,
        close_fds=False,
    )
    os.close(leak_in)
    request = {"workdir": str(host.workdir), **host.request('echo "ssh=$SSH_CONNECTION"; exec sleep 60')}
    process.communicate(json.dumps(request).encode() + b"\n", timeout=20)  # returns: our pipes are closed
    os.set_blocking(leak_out, False)
    assert os.read(leak_out, 1) == b""  # nobody holds the other end
    pid = host.run()["procs"][0]["pid"]
    assert str(Path(f"/proc/{pid}/fd/0").readlink()) == "/dev/null"
    assert {str(Path(f"/proc/{pid}/fd/{fd}").readlink()) for fd in (1, 2)} == {host.run()["log"]}
    eventually(lambda: Path(host.run()["log"]).read_text() == "ssh=\n")
    ignored = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn"))
    # SIGHUP and nothing else: not SIGPIPE, SIGINT, SIGQUIT (from 32 on they are the C library's own)
    assert int(ignored.split()[1], 16) & 0x7FFFFFFF == 1


def test_secrets_arrive_unchanged_and_are_nowhere_else(host: OnHost) -> None:
    value = 'it\'s "q" $HOME `x` \\n {}\nsecond line\t-é '
    frames = host.frames("start", **host.request("sleep 60", secrets={"HF_TOKEN": value, "EMPTY": ""}))
    folder = host.workdir / "runs/r1"
    main = eventually(lambda: host.run()["main"])
    environ = Path(f"/proc/{main}/environ").read_bytes().split(b"\0")
    assert b"HF_TOKEN=" + value.encode() in environ and b"EMPTY=" in environ
    assert "second line" not in json.dumps(frames)
    assert [path.name for path in folder.iterdir() if b"second line" in path.read_bytes()] == ["secrets.env"]
    assert (folder / "secrets.env").stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700


def test_the_same_run_is_started_once_however_often_it_is_asked(host: OnHost) -> None:
    first, again = host.start("sleep 60"), host.start("sleep 60")
    assert again["again"] and again["leader"] == first["leader"]
    assert len(list(host.workdir.glob("runs/*"))) == 1


def test_a_run_id_of_another_deployment_is_no_retry(host: OnHost) -> None:
    host.start("sleep 60")
    error = host.error("start", **host.request("sleep 60", deployment="other"))
    assert error["code"] == "bad-request" and "tiny@here" in error["message"]


def test_a_held_port_is_refused_with_the_process_that_holds_it(host: OnHost) -> None:
    with socket.socket() as held:
        held.bind(("0.0.0.0", 0))
        held.listen()
        port = held.getsockname()[1]
        error = host.error("start", **host.request("sleep 60", ports=[free_port(), port]))
    assert (error["code"], error["port"], error["holder"]["pid"]) == ("refused", port, os.getpid())
    assert "python" in error["holder"]["cmdline"] and str(os.getpid()) in error["message"] and error["do"]
    assert not (host.workdir / "runs/r1").exists()


def test_a_port_held_by_a_run_of_ours_names_that_run(host: OnHost) -> None:
    port = free_port()
    host.start_server(port=port, ports=[port], deployment="first", options="--bind-after 0")
    error = host.error("start", **host.request("sleep 60", "r2", ports=[port]))
    assert (error["live"]["run"], error["live"]["deployment"], error["live"]["who"]) == ("r1", "first", "ada@desk")
    assert f"port {port}" in error["message"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"deployment": "other", "gpus": [1, 2]}, "GPU 1: in use by tiny@here (run r1, since "),
        ({}, "the same deployment: in use by tiny@here (run r1, since "),
    ],
)
def test_a_live_run_of_ours_is_not_run_over(host: OnHost, fields: dict[str, object], words: str) -> None:
    host.start("sleep 60", gpus=[0, 1])
    error = host.error("start", **host.request("sleep 60", "r2", **fields))
    assert error["code"] == "refused" and words in error["message"] and "ada@desk" in error["message"]


def test_a_dead_run_is_in_nobodys_way_and_its_books_are_closed(host: OnHost) -> None:
    host.start("true")
    eventually(lambda: not host.run()["alive"])
    host.start("sleep 60", "r2")
    assert [frame["run"] for frame in host.frames("status") if frame["f"] == "run"] == ["r2"]
    assert host.run("r1")["stopped"]["why"] == "replaced by run r2"


def test_of_two_starts_at_the_same_moment_one_wins(host: OnHost) -> None:
    port = free_port()
    racing = [host.popen("start", **host.request("sleep 60", run, ports=[port], port=port)) for run in ("r1", "r2")]
    kinds = [
        [json.loads(line)["f"] for line in process.communicate(timeout=30)[0].splitlines()][1] for process in racing
    ]
    assert sorted(kinds) == ["error", "started"]
    assert len(list(host.workdir.glob("runs/*/state.json"))) == 1


def test_no_file_is_read_or_removed_because_a_request_names_it(host: OnHost, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("exit 7")
    started = host.start("true", script_file=str(precious))
    assert precious.read_text() == "exit 7"
    assert Path(started["run_dir"], "launch.sh").read_text() == SCRIPT % "true"


def test_a_file_where_the_log_link_belongs_is_kept_aside(host: OnHost, tmp_path: Path) -> None:
    link = tmp_path / "logs/sglang.log"
    link.parent.mkdir()
    link.write_text("precious")
    started = host.start("echo hello", log_link=str(link))
    assert Path(started["kept"]).read_text() == "precious"
    eventually(lambda: link.read_text() == "hello\n")
    eventually(lambda: not host.run()["alive"])
    assert "kept" not in host.start("echo again", "r2", log_link=str(link))
    eventually(lambda: link.read_text() == "again\n")


def test_started_comes_quickly(host: OnHost) -> None:
    took = []
    for number in range(5):
        frames = host.frames("start", **host.request("sleep 60", f"r{number}", deployment=f"d{number}"))
        took.append(frames[1]["t"] - frames[0]["t"])
    print(f"start: {min(took):.3f} s")
    assert min(took) < 0.5  # 0.03 s where nothing else runs; fsync on a busy disk takes longer


def test_the_lock_of_another_is_waited_for_and_then_named(host: OnHost) -> None:
    host.start("sleep 60")
    first = host.popen("stop", run="r1", grace=3, wait=3)
    time.sleep(0.2)
    started = host.start("sleep 60", "r2", deployment="other")
    first.communicate(timeout=30)
    assert session_of(started)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"run": "../../etc"}, "`run`"),
        ({"run": None}, "lacks `run`"),
        ({"ports": ["80"]}, "`ports`"),
        ({"script": 5}, "`script`"),
        ({"secrets": {"a b": "x"}}, "'a b'"),
        ({"secrets": {"A": "secret\0value"}}, "secret A"),
    ],
)
def test_a_wrong_request_is_told_by_its_key(host: OnHost, fields: dict[str, object], words: str) -> None:
    error = host.error("start", **{**host.request("sleep 60"), **fields})
    assert error["code"] == "bad-request" and words in error["message"] and "value" not in error["message"]
    assert not host.workdir.exists() or not list(host.workdir.glob("runs/*"))


def test_a_workdir_that_cannot_be_made_is_a_sentence_with_a_path(host: OnHost, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = host.error("start", **{**host.request("sleep 60"), "workdir": str(tmp_path / "file/work")})
    assert str(tmp_path / "file") in error["message"] and error["do"]


def test_a_full_disk_is_a_sentence_and_starts_nothing(host: OnHost) -> None:
    error = host.error("start", **{**host.request("sleep 60"), "plan": {}, "log_link": "/dev/full/log"})
    assert error["do"] and not (host.workdir / "runs/r1/state.json").exists()
