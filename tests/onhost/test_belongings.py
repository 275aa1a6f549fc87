"""What a run's processes have made outside its folder goes with them: shared memory and sockets, and only theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.onhost.driver import OnHost, eventually

HOLDS = """
import mmap, os, socket, sys, time
folder, shape = sys.argv[1:3]
for kind in sys.argv[3:]:
    path = os.path.join("/dev/shm", kind if "." in kind else shape % kind)
    file = open(path, "r+b" if os.path.exists(path) else "w+b")
    if not os.path.getsize(path):
        file.truncate(4096)
    globals()[kind] = mmap.mmap(file.fileno(), 4096)
    bound = socket.socket(socket.AF_UNIX)
    if "." not in kind and not os.path.exists(f"{folder}/{kind}"):
        bound.bind(f"{folder}/{kind}")
    globals()[kind + "s"] = bound
open(f"{folder}/ready-{os.getpid()}", "w").close()
time.sleep(60)
"""


@pytest.fixture
def shape() -> Iterator[str]:
    """The names in /dev/shm that a test may use, such as SGLang gives to its own; %s: what it is for."""
    own = f"sgl_shm_%s_{os.getpid()}_0a1b2c3d"
    yield own
    for path in Path("/dev/shm").glob(own % "*"):
        path.unlink()


def segment(shape: str, kind: str) -> Path:
    """Where the segment of this kind is."""
    return Path("/dev/shm", shape % kind)


def test_segments_and_sockets_of_a_killed_server_are_removed_and_those_that_others_have_stay(
    host: OnHost, shape: str, tmp_path: Path
) -> None:
    script = tmp_path / "holds.py"
    script.write_text(HOLDS)
    other = subprocess.Popen([sys.executable, str(script), str(tmp_path), shape, "shared", "foreign"])
    try:
        eventually(lambda: list(tmp_path.glob("ready-*")))
        host.start(f"trap '' TERM; {sys.executable} {script} {tmp_path} {shape} own shared")
        eventually(lambda: len(list(tmp_path.glob("ready-*"))) == 2)

        host.one("stop", "stopped", run="r1", grace=0.2, wait=10)

        left = {kind for kind in ("foreign", "shared", "own") if segment(shape, kind).exists()}
        assert left == {"foreign", "shared"}
        assert not (tmp_path / "own").exists()
        assert (tmp_path / "shared").is_socket() and (tmp_path / "foreign").is_socket()
    finally:
        other.kill()
        other.wait()


def test_what_was_noted_when_it_was_up_is_removed_when_its_processes_are_gone_long_since(
    host: OnHost, shape: str, tmp_path: Path
) -> None:
    script = tmp_path / "holds.py"
    script.write_text(HOLDS)
    host.start(f"exec {sys.executable} {script} {tmp_path} {shape} own taken")
    eventually(lambda: list(tmp_path.glob("ready-*")))
    following = host.follow(port=None, probe=None)
    following.tell(c="up")
    following.kind("noted")
    pid = int(next(tmp_path.glob("ready-*")).name.split("-")[1])
    subprocess.run(["kill", "-9", str(pid)], check=True)
    following.kind("exit")
    taken = segment(shape, "taken")
    taken.rename(segment(shape, "old"))
    taken.write_text("another's by now")

    host.one("stop", "stopped", run="r1", grace=0.2, wait=10)

    assert not segment(shape, "own").exists() and not (tmp_path / "own").exists()
    assert taken.read_text() == "another's by now"


def test_what_the_operator_keeps_in_shared_memory_stays_though_the_run_has_mapped_it(
    host: OnHost, shape: str, tmp_path: Path
) -> None:
    """Weights in a folder of their own, a file with a name that no program makes up, a segment older than the run."""
    script = tmp_path / "holds.py"
    script.write_text(HOLDS)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="allranks-test-") as models:
        weights, cache = Path(models, "model.safetensors"), Path(f"{models}.bin")
        segment(shape, "older").write_bytes(bytes(4096))
        time.sleep(0.05)  # the kernel's stamps are up to 10 ms old
        try:
            kept = f"{weights.relative_to('/dev/shm')} {cache.name}"
            host.start(f"trap '' TERM; {sys.executable} {script} {tmp_path} {shape} own older {kept}")
            eventually(lambda: list(tmp_path.glob("ready-*")))

            host.one("stop", "stopped", run="r1", grace=0.2, wait=10)

            assert weights.exists() and cache.exists() and segment(shape, "older").exists()
            assert not segment(shape, "own").exists()
        finally:
            cache.unlink(missing_ok=True)


def test_after_a_reboot_nothing_that_was_noted_before_is_removed(host: OnHost, shape: str) -> None:
    """A file in memory may have the number of one that was there before."""
    host.start("true")
    eventually(lambda: not host.run()["alive"])
    mine = segment(shape, "another")
    mine.write_bytes(b"another's")
    seen = mine.stat()
    folder = host.workdir / "runs/r1"
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**state, "boot": "the one before"}))
    row = {"path": str(mine), "dev": seen.st_dev, "ino": seen.st_ino}
    (folder / "up.json").write_text(json.dumps({"t": 0, "ranks": [], "files": [row]}))

    host.one("stop", "stopped", run="r1", grace=0.2, wait=10)

    assert mine.read_bytes() == b"another's"
