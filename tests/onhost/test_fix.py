"""fix on one host: a lock is removed only where nobody can hold it, seen from here or not."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from roles.onhost import fix, locks
from tests.onhost.driver import Frame, OnHost

HOUR_AGO = time.time() - 3600


@pytest.fixture
def lock(host: OnHost, tmp_path: Path) -> Path:
    """A lock of torch's that was left an hour ago."""
    host.environment["TORCH_EXTENSIONS_DIR"] = str(tmp_path / "torch")
    path = tmp_path / "torch/py311_cpu/fused/lock"
    path.parent.mkdir(parents=True)
    path.touch()
    os.utime(path, (HOUR_AGO, HOUR_AGO))
    return path


def fixed(host: OnHost, path: Path) -> Frame:
    """What became of it."""
    return host.one("fix", "fixed", locks=[str(path)])


def test_an_old_lock_of_ours_that_nobody_has_open_is_removed(host: OnHost, lock: Path) -> None:
    assert fixed(host, lock)["done"] and not lock.exists()


def test_a_young_one_stays(host: OnHost, lock: Path) -> None:
    os.utime(lock)
    told = fixed(host, lock)
    assert (told["done"], lock.exists()) == (False, True)
    assert "it is 0 min old" in told["why"]


def test_one_of_another_user_stays(host: OnHost, lock: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make another user's file")
    os.chown(lock, 65534, 65534)
    assert fixed(host, lock)["why"] == "another user has made it" and lock.exists()


def test_one_that_is_held_by_another_path_stays(host: OnHost, lock: Path, tmp_path: Path) -> None:
    """As a build in a container with the folder at another place has it."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    os.link(lock, other / "lock")
    with (other / "lock").open("rb") as held, subprocess.Popen(["sleep", "60"], stdin=held) as build:
        try:
            told = fixed(host, lock)
        finally:
            build.kill()
    assert "holds it" in told["why"] and lock.exists()


def test_one_in_a_folder_that_another_container_may_have_stays(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for a container: another PID namespace, a bind mount. One from before the start is stale."""
    monkeypatch.setattr(locks, "is_first_pid_namespace", lambda: False)
    monkeypatch.setattr(locks, "_mount", lambda path: (str(lock.parent), "ext4"))
    monkeypatch.setattr(locks, "_booted", lambda: HOUR_AGO - 60)
    variables = {"TORCH_EXTENSIONS_DIR": str(lock.parents[2])}
    assert locks.stale(variables, str(lock)) == f"another container may have {lock.parent}, and hold it"
    monkeypatch.setattr(locks, "_booted", lambda: HOUR_AGO + 60)
    assert locks.stale(variables, str(lock)) is None


def test_one_that_became_another_while_it_was_looked_at_stays(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swapped(*_: object) -> None:
        (lock.parent / "new").touch()
        (lock.parent / "new").replace(lock)

    monkeypatch.setattr(fix, "stale", swapped)
    assert fix._remove({}, str(lock)) == "it is another file by now" and lock.exists()
