"""What a run's processes have made outside its folder goes with them: shared memory and sockets, and only theirs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.onhost.driver import OnHost, eventually

HOLDS = """
import mmap, os, socket, sys, time
folder, name = sys.argv[1:3]
for kind in sys.argv[3:]:
    file = open(f"/dev/shm/{name}-{kind}", "r+b" if os.path.exists(f"/dev/shm/{name}-{kind}") else "w+b")
    file.truncate(4096)
    globals()[kind] = mmap.mmap(file.fileno(), 4096)
    bound = socket.socket(socket.AF_UNIX)
    if not os.path.exists(f"{folder}/{kind}"):
        bound.bind(f"{folder}/{kind}")
    globals()[kind + "s"] = bound
open(f"{folder}/ready-{os.getpid()}", "w").close()
time.sleep(60)
"""


@pytest.fixture
def name(tmp_path: Path) -> Iterator[str]:
    """The beginning of the names in /dev/shm that a test may use."""
    own = f"allranks-test-{tmp_path.name}-{tmp_path.parent.name}"
    yield own
    for path in Path("/dev/shm").glob(f"{own}-*"):
        path.unlink()


def test_segments_and_sockets_of_a_killed_server_are_removed_and_those_that_others_have_stay(
    host: OnHost, name: str, tmp_path: Path
) -> None:
    script = tmp_path / "holds.py"
    script.write_text(HOLDS)
    other = subprocess.Popen([sys.executable, str(script), str(tmp_path), name, "shared", "foreign"])
    try:
        eventually(lambda: list(tmp_path.glob("ready-*")))
        host.start(f"trap '' TERM; {sys.executable} {script} {tmp_path} {name} own shared")
        eventually(lambda: len(list(tmp_path.glob("ready-*"))) == 2)

        host.one("stop", "stopped", run="r1", grace=0.2, wait=10)

        left = sorted(path.name[len(name) + 1 :] for path in Path("/dev/shm").glob(f"{name}-*"))
        assert left == ["foreign", "shared"]
        assert not (tmp_path / "own").exists()
        assert (tmp_path / "shared").is_socket() and (tmp_path / "foreign").is_socket()
    finally:
        other.kill()
        other.wait()


def test_what_was_noted_when_it_was_up_is_removed_when_its_processes_are_gone_long_since(
    host: OnHost, name: str, tmp_path: Path
) -> None:
    script = tmp_path / "holds.py"
    script.write_text(HOLDS)
    host.start(f"exec {sys.executable} {script} {tmp_path} {name} own taken")
    eventually(lambda: list(tmp_path.glob("ready-*")))
    following = host.follow(port=None, probe=None)
    following.tell(c="up")
    following.kind("noted")
    pid = int(next(tmp_path.glob("ready-*")).name.split("-")[1])
    subprocess.run(["kill", "-9", str(pid)], check=True)
    following.kind("exit")
    taken = Path(f"/dev/shm/{name}-taken")
    taken.rename(f"/dev/shm/{name}-old")
    taken.write_text("another's by now")

    host.one("stop", "stopped", run="r1", grace=0.2, wait=10)

    assert not Path(f"/dev/shm/{name}-own").exists() and not (tmp_path / "own").exists()
    assert taken.read_text() == "another's by now"
