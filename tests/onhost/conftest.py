"""The on-host program under the oldest and the newest Python of this machine."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roles.onhost.pack import pack
from tests.onhost.driver import OnHost


def works(program: str | None, version: str) -> bool:
    """Does it run, and as this version? (A version manager's shim may be there and not run.)"""
    print_version = "import sys; print('%d.%d' % sys.version_info[:2])"
    said = (
        program and subprocess.run([program, "-c", print_version], capture_output=True, text=True, check=False).stdout
    )
    return said == version + "\n"


def pythons() -> list[str]:
    """The oldest and the newest of: this one, and 3.8 and 3.13 where they are found."""
    found = {sys.version_info[:2]: sys.executable}
    for version in ("3.8", "3.13"):
        candidates = [
            shutil.which(f"python{version}"),
            *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
        ]
        working = [program for program in candidates if program and works(program, version)]
        if working:
            found[tuple(map(int, version.split(".")))] = working[0]  # type: ignore[index]
    return list(dict.fromkeys([found[min(found)], found[max(found)]]))


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed program as a file."""
    path = tmp_path_factory.mktemp("bin") / "onhost.pyz"
    path.write_bytes(pack())
    return path


@pytest.fixture(params=pythons(), ids=("oldest", "newest")[: len(pythons())])
def python(request: pytest.FixtureRequest) -> str:
    """A Python that the program must run with."""
    return str(request.param)


@pytest.fixture
def host(python: str, program: Path, tmp_path: Path) -> Iterator[OnHost]:
    """A work folder and the program; what was started in it is ended."""
    host = OnHost(python, program, tmp_path / "work")
    yield host
    host.clean()
