"""A lab for somebody who is not root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roles.lab.kinds import decide
from tests.lab.fixtures import CLONE

UID = 64242

pytestmark = pytest.mark.hosts


def life(kind: str, folder: Path) -> dict[str, Any]:
    """What ordinary_life.py saw, run by an ordinary user: by ourselves if we are one."""
    argv = [sys.executable, "-m", "tests.lab.ordinary_life", str(folder / "home"), kind]
    (folder / "home").mkdir()
    if os.getuid() == 0:
        if decide("auto")[0] != "namespace":
            pytest.skip(f"root can become nobody else here: {decide('auto')[1]}")
        folder.chmod(0o755)
        argv = [sys.executable, "-m", "tests.lab.ordinary", str(UID), str(folder), *argv]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=CLONE, timeout=120)
    if "user namespaces do not work here" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that another user may enter: pytest closes its own to others, whenever a run of it begins."""
    with tempfile.TemporaryDirectory(prefix="allranks-lab-") as folder:
        yield Path(folder)


def test_user_namespaces_give_an_ordinary_user_whole_hosts(reachable: Path) -> None:
    seen = life("user-namespace", reachable)
    assert seen["up"] == [True, True]
    assert seen["home"] == "/root\n/root\n"
    assert seen["sftp"] == "as it was"
    assert seen["hurt"] == [False, True, False, True]
    assert seen["gone"]
    assert seen["left"] == ["id_ed25519", "id_ed25519.pub", "lock", "opt"]


def test_loopback_gives_anyone_an_sshd_with_a_home_per_host(reachable: Path) -> None:
    seen = life("loopback", reachable)
    assert seen["up"] == [True, True]
    assert seen["home"] == f"{reachable}/home/.lab/hosts/lab1/home\n" * 2
    assert seen["sftp"] == "as it was"
    assert seen["hurt"] == [False, True, False, True]
    assert seen["gone"]
    assert seen["left"] == ["id_ed25519", "id_ed25519.pub", "lock", "opt"]


def test_auto_takes_user_namespaces_for_who_is_not_root_and_says_so(reachable: Path) -> None:
    assert life("auto", reachable)["said"][0].endswith("user-namespace: you are not root, and user namespaces work")
