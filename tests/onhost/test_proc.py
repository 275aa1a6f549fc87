"""/proc: a process is more than its number, and its words are not all for everybody."""

from __future__ import annotations

import os
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
