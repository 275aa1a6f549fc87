"""measure: refused on GPUs that are not there or in use, before anything is started. (With torch: tests/sglang.)"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.onhost.driver import OnHost, free_port

# Stands where nvidia-smi would: two GPUs; who holds them is in the file beside it.
SMI = """#!/bin/sh
case $1 in
    --query-gpu=*) printf '0, H200, GPU-a, 143771, %s\\n1, H200, GPU-b, 143771, 4\\n' "$(cat {folder}/used)" ;;
    --query-compute-apps=*) cat {folder}/apps ;;
esac
"""


@pytest.fixture
def gpus(host: OnHost, tmp_path: Path) -> Path:
    folder = tmp_path / "smi"
    folder.mkdir()
    (folder / "nvidia-smi").write_text(SMI.format(folder=folder))
    (folder / "nvidia-smi").chmod(0o755)
    (folder / "used").write_text("4")
    (folder / "apps").write_text("")
    host.environment["PATH"] = f"{folder}:{host.environment['PATH']}"
    return folder


def refused(host: OnHost, *gpus: int, **more: Any) -> str:
    """The sentence with which it is refused."""
    fields = {"python": host.python, "device": "cuda", "gpus": list(gpus), "world": len(gpus), "groups": [], **more}
    return str(host.error("measure", **fields)["message"])


def test_without_nvidia_smi_there_are_no_gpus(host: OnHost, tmp_path: Path) -> None:
    host.environment["PATH"] = str(tmp_path)

    assert "there are no GPUs" in refused(host, 0, 1)


@pytest.mark.usefixtures("gpus")
def test_a_gpu_that_is_not_there_is_named(host: OnHost) -> None:
    assert refused(host, 1, 2) == "GPU 2 is not there (nvidia-smi lists 2)"


def test_whoever_holds_a_gpu_is_named(host: OnHost, gpus: Path) -> None:
    (gpus / "apps").write_text(f"GPU-b, {os.getpid()}, 900\n")

    assert refused(host, 0, 1).startswith(f"GPU 1 is in use by pid {os.getpid()} of ")


def test_memory_that_nobody_is_seen_to_hold_is_use_too(host: OnHost, gpus: Path) -> None:
    (gpus / "used").write_text("90000")

    assert refused(host, 0, 1) == "GPU 0 is in use by a process that is not seen from here (90000 MiB)"


@pytest.mark.usefixtures("gpus")
def test_a_running_deployment_of_ours_is_not_measured_beside(host: OnHost) -> None:
    host.start_server(gpus=[1], ports=[free_port()])

    assert "GPU 1: in use by tiny@here (run r1" in refused(host, 0, 1)
    assert "there is no Python at /no/python" in refused(host, 0, 1, anyway=True, python="/no/python")


@pytest.mark.usefixtures("gpus")
def test_a_lease_of_somebody_else_keeps_it_away(host: OnHost) -> None:
    claim = {"id": "x", "who": "bob@desk", "what": "deploying", "deployment": "big@here", "gpus": [1], "ports": []}
    host.frames("lease", do="take", claim=claim, deployment="big@here", gpus=[1])

    assert "GPU 1 is being changed by bob@desk" in refused(host, 0, 1)
