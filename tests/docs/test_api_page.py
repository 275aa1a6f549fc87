"""The example in docs/api.md runs as it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from roles.lab.host import LabHost
from tests.docs.pages import ROOT, blocks
from tests.hosts import labs
from tests.hosts.clone import Clone
from tests.lab.fixtures import OPT


def example() -> str:
    (block,) = [block for block in blocks(ROOT / "docs/api.md") if block.note == "example"]
    return block.text


@pytest.mark.hosts
def test_the_example_deploys_asks_and_tears_down(
    hosts: list[LabHost], port: int, new_clone: Callable[[str], Clone]
) -> None:
    clone = new_clone("script").hosts(hosts).profile("tiny-tp1", port, layout={"tp": 1})

    done = _run(clone, example().replace("31050", str(port)))

    assert done.returncode == 0, done.stderr
    assert "tiny-tp1@lab ranks: ['TP0']" in done.stdout
    assert "state: up" in done.stdout
    assert "stopped in" in done.stdout


@pytest.mark.hosts
def test_the_example_says_in_one_line_what_is_wrong(
    hosts: list[LabHost], port: int, new_clone: Callable[[str], Clone]
) -> None:
    clone = new_clone("script").hosts(hosts)

    done = _run(clone, example())

    assert done.returncode == 1
    assert "no profile 'tiny-tp1'" in done.stderr
    assert "(exit code 2)" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.sglang
def test_the_example_runs_with_the_real_sglang(new_clone: Callable[[str], Clone]) -> None:
    if not (OPT / "stamp").exists():
        pytest.skip("SGLang is not installed in .lab: inv lab.up --sglang")
    with labs.made("api", 1, opt=OPT) as hosts:
        clone = new_clone("real").hosts(hosts)
        shutil.copy(ROOT / "inventory/profiles/tiny-tp1.yml", clone.root / "inventory/profiles")

        done = _run(clone, example(), timeout=500)

        assert done.returncode == 0, done.stderr
        assert "state: up" in done.stdout


def _run(clone: Clone, script: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    (clone.root / "own.py").write_text(script)
    return subprocess.run(
        [sys.executable, "own.py"],
        cwd=clone.root,
        env={"PATH": os.environ["PATH"], "HOME": str(clone.home), "USER": "ada", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
