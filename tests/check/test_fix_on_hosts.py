"""inv check --fix on real hosts: it does what is harmless, says so, and the second time there is nothing to do."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from roles.lab.host import LabHost
from tests.hosts.clone import INV, Clone, eventually
from tests.hosts.labs import disk
from tests.hosts.reach import shell

pytestmark = pytest.mark.hosts
FIX = ("check", "--host", "lab", "--profile", "small", "--fix")
LEFT_BY_TORCH = ".cache/torch_extensions/py311_cpu/fused/lock"
OLD = (1e9, 1e9)  # before any machine here was started
PROFILE = """\
model: host:tiny-llama      # as small as it gets
served_model_name: tiny
layout: {{tp: 2, pp: 2}}
port: {port}
flags:
  device: cpu
  load_format: dummy
{more}
"""


def profile(clone: Clone, port: int, more: str = "") -> Path:
    """The profile as a person writes it."""
    file = clone.root / "inventory/profiles/small.yml"
    file.write_text(PROFILE.format(port=port, more=more))
    return file


def fixed(clone: Clone) -> list[dict[str, Any]]:
    """What --fix --yes did; it must leave nothing that is not ok, and nothing for a second time."""
    done = clone.ok(*FIX, "--yes", "--json").json
    assert [finding for finding in done["findings"] if finding["level"] != "ok"] == []
    assert clone.ok(*FIX, "--yes", "--json").json["fixes"] == []
    assert "nothing to fix" in clone.ok(*FIX, "--yes").out
    rows: list[dict[str, Any]] = done["fixes"]
    assert all(row["done"] and row["why"] == "" for row in rows), rows
    return rows


def test_folders_that_the_profile_names_are_made(clone: Clone, host: LabHost, port: int) -> None:
    caches = disk(host) if host.record.kind == "loopback" else Path("/root")
    profile(clone, port, f"log: {caches}/logs/small.log\nenvironment:\n  TRITON_CACHE_DIR: {caches}/big/triton")

    assert {(row["host"], row["what"]) for row in fixed(clone)} == {
        ("lab", f"make {caches}/logs (log)"),
        ("lab", f"make {caches}/big/triton (environment.TRITON_CACHE_DIR)"),
    }
    assert (disk(host) / "big/triton").is_dir() and (disk(host) / "logs").is_dir()


def test_no_proxy_is_written_into_the_profile_with_what_the_host_had(clone: Clone, host: LabHost, port: int) -> None:
    (disk(host) / ".bashrc").write_text("export http_proxy=http://proxy.example:3128 no_proxy=.corp.example\n")
    file = profile(clone, port)

    (row,) = fixed(clone)

    assert row["host"] is None
    assert row["what"] == "write environment.no_proxy: .corp.example,127.0.0.1,localhost in profile small"
    assert "# as small as it gets" in file.read_text()
    shown = clone.ok("show", "--host", "lab", "--profile", "small").out
    assert "export no_proxy=.corp.example,127.0.0.1,localhost" in shown


def test_a_limit_is_raised_in_the_launch_script(clone: Clone, host: LabHost, port: int) -> None:
    (disk(host) / ".bashrc").write_text("ulimit -S -f 4000000\n")
    profile(clone, port)

    (row,) = fixed(clone)

    assert row["what"] == "write limits.fsize: unlimited in profile small"
    assert "ulimit -S -f unlimited" in clone.ok("show", "--host", "lab", "--profile", "small").out
    clone.ok("deploy", "--host", "lab", "--profile", "small")
    pids = [pid for pid in host.pids() if b"launch_server" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    limits = [Path(f"/proc/{pid}/limits").read_text() for pid in pids]
    assert limits and all("Max file size             unlimited" in text for text in limits)
    clone.ok("teardown", "--host", "lab")


def left_by_torch(host: LabHost) -> Path:
    """A lock file of a build, made just now."""
    lock = disk(host) / LEFT_BY_TORCH
    lock.parent.mkdir(parents=True)
    lock.touch()
    return lock


def test_a_lock_that_a_killed_build_left_is_removed(clone: Clone, host: LabHost, port: int) -> None:
    lock = left_by_torch(host)
    os.utime(lock, OLD)
    profile(clone, port)

    found = clone.ok("check", "--host", "lab", "--profile", "small", "--json").json["findings"]
    (finding,) = [each for each in found if each["level"] != "ok"]
    assert finding["topic"] == "locks" and "was left by a build that was killed" in finding["found"]
    (row,) = fixed(clone)

    assert row["topic"] == "locks" and not lock.exists()


def test_a_lock_that_somebody_unseen_may_hold_is_told_and_stays(clone: Clone, host: LabHost, port: int) -> None:
    """A young one; on a host that is a container, one in a folder that others may have too."""
    lock = left_by_torch(host)
    profile(clone, port)

    done = clone.ok(*FIX, "--yes", "--json").json

    (finding,) = [each for each in done["findings"] if each["level"] != "ok"]
    assert finding["topic"] == "locks" and "it is 0 min old" in finding["found"] and "--fix" not in finding["do"]
    assert done["fixes"] == [] and lock.exists()
    if host.record.kind == "namespace":
        os.utime(lock, (time.time() - 3600, time.time() - 3600))
        booted = float(Path("/proc/stat").read_text().partition("btime ")[2].split()[0])
        done = clone.ok(*FIX, "--yes", "--json").json
        assert lock.exists() == (time.time() - 3600 > booted)


def test_a_lock_that_is_held_stays(clone: Clone, host: LabHost, port: int) -> None:
    lock = left_by_torch(host)
    seen_at = lock if host.record.kind == "loopback" else Path("/root", LEFT_BY_TORCH)
    shell(host, f"cd / && (setsid sleep 300 3<{seen_at} >/dev/null 2>&1 &)")
    profile(clone, port)

    done = clone.ok(*FIX, "--yes", "--json").json

    (finding,) = [each for each in done["findings"] if each["level"] != "ok"]
    assert finding["topic"] == "locks" and "sleep 300" in finding["found"]
    assert done["fixes"] == [] and lock.exists()


def test_a_lock_file_of_flashinfer_that_nobody_holds_is_no_finding(clone: Clone, host: LabHost, port: int) -> None:
    lock = disk(host) / ".cache/flashinfer/0.6.2/90a/cached_ops/tmp/decode.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    profile(clone, port)
    seen_at = lock if host.record.kind == "loopback" else Path("/root", lock.relative_to(disk(host)))

    assert fixed(clone) == []

    shell(host, f"cd / && (setsid flock {seen_at} sleep 300 >/dev/null 2>&1 &)")

    def held() -> list[dict[str, Any]]:
        found = clone.ok("check", "--host", "lab", "--profile", "small", "--json").json["findings"]
        return [each for each in found if each["topic"] == "locks"]

    (finding,) = eventually(held)
    assert "a kernel is being built" in finding["found"] and "decode.lock" in finding["found"]


def read(terminal: int, until: str) -> str:
    """What stands on the terminal, up to these words."""
    said = b""
    while until.encode() not in said:
        said += os.read(terminal, 4096)
    return said.decode().replace("\r\n", "\n")


@contextmanager
def asked(clone: Clone, *command: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The command on a terminal, when it has asked; and the terminal, to answer on."""
    ours, theirs = pty.openpty()
    plain = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    with subprocess.Popen(
        [INV, *command], cwd=clone.root, env=plain, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE
    ) as running:
        os.close(theirs)
        read(ours, "? [y/N] ")
        yield running, ours
    os.close(ours)


@pytest.mark.parametrize(("answer", "there"), [("y", False), ("n", True), ("", True)])
def test_a_person_is_asked_once(clone: Clone, host: LabHost, port: int, answer: str, there: bool) -> None:
    lock = left_by_torch(host)
    os.utime(lock, OLD)
    profile(clone, port)

    with asked(clone, *FIX) as (running, terminal):
        os.write(terminal, answer.encode() + b"\n")
        out, _ = running.communicate(timeout=60)

    assert running.returncode == 0 and lock.exists() == there
    assert ("  done      lab: remove " in out.decode()) == (not there)


# Python until the file `hang` is there; from then on it takes what it is asked and never says a word.
HANGING = """\
#!/bin/sh
cd {at} && [ -e hang ] && touch hanging && exec sleep 60
exec python3 "$@"
"""


def test_after_ctrl_c_it_says_what_was_done_and_which_host_was_asked_and_not_heard_of(
    clone: Clone, hosts: list[LabHost], port: int
) -> None:
    first, second = (disk(host) for host in hosts[:2])
    at = second if hosts[1].record.kind == "loopback" else Path("/root")
    (second / "python").write_text(HANGING.format(at=at))
    (second / "python").chmod(0o755)
    known = json.loads((clone.root / "inventory/hosts.yml").read_text())["hosts"]
    clone.hosts({"lab1": known["lab1"], "lab2": {**known["lab2"], "python": f"{at}/python"}})
    profile(clone, port)
    for host in hosts[:2]:
        os.utime(left_by_torch(host), OLD)

    with asked(clone, "check", "--host", "lab1,lab2", "--profile", "small", "--fix") as (running, terminal):
        (second / "hang").touch()
        os.write(terminal, b"y\n")
        eventually((second / "hanging").exists)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        said = read(terminal, "stopped by Ctrl-C")

    assert running.returncode == 130, said
    assert not (first / LEFT_BY_TORCH).exists() and (second / LEFT_BY_TORCH).exists()
    done, unknown, broken, *_ = [line for line in said.splitlines() if line.startswith(("  ", "broken"))]
    assert done.startswith("  done      lab1: remove ")
    assert unknown.startswith("  unknown   lab2: remove ") and unknown.endswith("not heard of until Ctrl-C")
    assert broken == "broken off: 1 of 2 may not be done; see inv check"


def test_without_anybody_to_ask_nothing_is_changed_and_that_is_said(clone: Clone, host: LabHost, port: int) -> None:
    lock = left_by_torch(host)
    os.utime(lock, OLD)
    profile(clone, port)

    done = clone.ok(*FIX)

    assert "--fix would:\n  lab: remove " in done.out
    assert "nothing was changed: there is nobody to ask" in done.err
    assert lock.exists()
