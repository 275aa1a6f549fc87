"""/proc: a process is more than its number, and its words are not all for everybody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from roles.onhost import proc
from tests.onhost.driver import eventually


def test_a_process_is_known_by_its_start() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        seen = proc.stat(process.pid)
        assert seen is not None and not seen.dead
        assert (seen.ppid, seen.session, seen.comm) == (os.getpid(), os.getsid(0), "sleep")
        assert 0 <= time.clock_gettime(time.CLOCK_BOOTTIME) - seen.start / proc.TICKS < 10
        process.kill()
        eventually(lambda: (zombie := proc.stat(process.pid)) and zombie.dead)  # not waited for yet
    assert proc.stat(process.pid) is None


def test_a_sessions_members_are_its_processes_and_zombies_and_nobody_else() -> None:
    script = "sleep 60 & sh -c 'sleep 60; :' & echo; read x"
    with (
        subprocess.Popen(["sleep", "60"]) as stranger,
        subprocess.Popen(["sh", "-c", script], stdin=-1, stdout=-1, start_new_session=True) as leader,
    ):
        assert leader.stdout
        leader.stdout.readline()
        names = ["sh", "sh", "sleep", "sleep"]
        eventually(lambda: sorted(each.comm for each in proc.members(leader.pid)) == names)
        found = proc.members(leader.pid)
        assert {each.session for each in found} == {leader.pid} and stranger.pid not in {each.pid for each in found}
        for process in found:
            os.kill(process.pid, signal.SIGKILL)
        left = eventually(lambda: len(now := proc.members(leader.pid)) == 1 and now[0].dead and now)
        assert left[0].pid == leader.pid  # not waited for yet
        stranger.kill()
    assert proc.members(leader.pid) == []


def test_a_name_with_blanks_and_brackets_confuses_nobody() -> None:
    code = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'a) R 1 (b'); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        seen = eventually(lambda: (now := proc.stat(process.pid)) and now.comm == "a) R 1 (b" and now)
        assert seen.ppid == os.getpid()
        process.kill()


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--api-key", "abc", "x"], "--api-key *** x"),
        (["--admin-api-key=abc"], "--admin-api-key=***"),
        (["env", "HF_TOKEN=abc def"], "env HF_TOKEN=***"),
        (["-c", '{"password": "abc"}'], '-c {"password":***'),
        (["curl", "-H", "Authorization: Bearer abc"], "curl -H Authorization: Bearer ***"),
        (["login", "hf_ABCDEFGHIJKLMNOPQRSTUV"], "login ***"),
        (["--max-total-tokens", "2048", "--tokenizer-path", "/x"], "--max-total-tokens 2048 --tokenizer-path /x"),
    ],
)
def test_secrets_in_a_command_line_are_masked(arguments: list[str], shown: str) -> None:
    assert " ".join(proc.redact(arguments)) == shown
