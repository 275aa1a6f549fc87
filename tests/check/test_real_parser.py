"""The real SGLang's parser on a lab host: the same with and without what it imports, and the same as the table."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from roles.onhost.flags import HERE, RUN
from roles.plan.flags import Option, options_of

PYTHON = Path(__file__).resolve().parents[2] / ".lab/opt/venv/bin/python"
pytestmark = [
    pytest.mark.sglang,
    pytest.mark.skipif(not PYTHON.exists(), reason="inv lab.up --sglang installs SGLang"),
]


def asked(hollow: bool, *argv: str) -> dict[str, Any]:
    """The installed parser's answer."""
    request = json.dumps({"argv": ["--model-path", "m", *argv], "hollow": hollow}) + "\n"
    done = subprocess.run(
        [str(PYTHON), "-c", RUN, HERE],
        input=request,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={"SGLANG_USE_CPU_ENGINE": "1", "PATH": "/usr/bin:/bin"},
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_parser_is_the_same_with_and_without_what_it_imports() -> None:
    assert asked(True)["options"] == asked(False)["options"]


def test_the_table_has_what_the_installed_release_has() -> None:
    installed = {flag: Option.read(row) for row in asked(True)["options"] for flag in row["flags"]}

    assert installed == options_of("0.5.23")


def test_the_real_parser_objects_to_what_the_table_does() -> None:
    said = asked(True, "--pp", "2")["error"]

    assert said == "ambiguous option: --pp could match --pp-size, --pp-max-micro-batch-size, --pp-async-batch-depth"
