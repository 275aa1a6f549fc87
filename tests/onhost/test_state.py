"""Files of a run: whole, whoever writes them at the same time."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roles.onhost import proc
from roles.onhost.commands import Commands
from roles.onhost.state import Run, write


def test_two_threads_may_write_one_file_at_once(tmp_path: Path) -> None:
    # The follower's look and its "up" both write ranks.json; one of them lost, and the word "noted" with it.
    path = tmp_path / "ranks.json"

    def often(word: bytes) -> None:
        for _ in range(300):
            write(str(path), word * 1000, lasting=False)

    with ThreadPoolExecutor() as pool:
        list(pool.map(often, (b"a", b"b", b"c")))

    assert path.read_bytes() in (b"a" * 1000, b"b" * 1000, b"c" * 1000)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were waited for until they were on the disk."""
    names: list[str] = []

    def fsync(fd: int) -> None:
        names.append(Path(f"/proc/self/fd/{fd}").readlink().name.rsplit(".", 2)[0])

    monkeypatch.setattr("os.fsync", fsync)
    return names


def test_the_disk_is_waited_for_where_a_loss_of_power_matters(tmp_path: Path, waited: list[str]) -> None:
    run = Run(str(tmp_path), "r1")
    Path(run.folder).mkdir(parents=True)

    for name in ("plan.json", "ranks.json"):
        run.write(name, {})
    run.add(run="r1")
    write(run.path("launch.sh"), b"")

    assert waited == ["state.json", "launch.sh"]


def test_that_a_run_was_up_is_on_the_disk_before_it_is_noted(tmp_path: Path, waited: list[str]) -> None:
    run = Run(str(tmp_path), "r1")
    Path(run.folder).mkdir(parents=True)
    own = proc.stat(os.getpid())
    assert own is not None
    leader = {"pid": own.pid, "start": own.start}
    run.add(run="r1", leader=leader, session=own.session, boot=proc.boot_id(), started=time.time())
    told: list[tuple[str, bool]] = []

    Commands(run, None, lambda kind, **_: told.append((kind, "up.json" in waited))).obey(b'{"c": "up"}')

    assert told[-1] == ("noted", True)
