"""inv check of a plan with GPUs on real sshd hosts. There is no GPU in the lab: what nvidia-smi would say is stood in
for; the program that asks it, the packages, processes and files are real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from roles.lab.host import LabHost
from tests.check import provoke
from tests.check.provoke import check
from tests.hosts.clone import Clone
from tests.hosts.labs import disk
from tests.hosts.reach import shell

pytestmark = pytest.mark.hosts
Made = Callable[..., None]


@pytest.fixture
def clean(clone: Clone, linked: list[LabHost], port: int) -> Made:
    """A host with two GPUs that nobody uses, and a plan for both; `smi`: what nvidia-smi says otherwise."""

    def make(flags: dict[str, Any] | None = None, venv: str | None = None, **smi: Any) -> None:
        provoke.gpus(linked[0], **smi)
        clone.hosts(linked[:1], gpus=2, **({"venv": venv} if venv else {}))
        clone.profile("small", port, layout={"tp": 2}, flags={"load_format": "dummy", **(flags or {})})

    return make


def of(found: list[dict[str, Any]], topic: str) -> dict[str, Any]:
    """The one thing found, which is of this topic."""
    assert [each["topic"] for each in found] == [topic], found
    return found[0]


def test_a_clean_host_with_gpus_reports_nothing_but_ok(clone: Clone, clean: Made) -> None:
    clean()

    done, found = check(clone)

    assert (done.code, found) == (0, [])
    topics = {finding["topic"]: finding["found"] for finding in done.json["findings"]}
    assert topics["gpu"] == "2 x NVIDIA H200, at least 140.4 GiB free on each"
    assert topics["p2p"] == "the GPUs that work together have access to each other's memory"
    assert "xid" in topics


@pytest.mark.parametrize(
    ("smi", "topic", "said"),
    [
        ({"ecc": "3"}, "gpu", "has had 3 uncorrected memory errors"),
        ({"mig": "Enabled"}, "gpu", "is divided (MIG)"),
        ({"limit": "300.00"}, "gpu", "is limited to 300 of 700 W"),
        ({"peers": "GNS"}, "p2p", "the GPU does not support it (GNS)"),
    ],
)
def test_what_nvidia_smi_says_of_a_gpu_is_a_warning(
    clone: Clone, clean: Made, smi: dict[str, str], topic: str, said: str
) -> None:
    clean(**smi)

    done, found = check(clone)

    assert done.code == 0
    assert {each["topic"] for each in found} == {topic} and all(said in each["found"] for each in found)


def test_a_gpu_that_cannot_do_what_is_asked_is_said_with_what_is_needed(clone: Clone, clean: Made) -> None:
    clean({"attention_backend": "fa3"}, cap="12.0")

    _, found = check(clone)

    assert {each["needed"] for each in found} == {"8.0 to 9.9"}


def test_memory_that_is_in_use_is_refused(clone: Clone, clean: Made) -> None:
    clean(used=90000)

    done, found = check(clone)

    assert done.code == 3 and all("is in use: 87.9 GiB by whom neither" in each["found"] for each in found)


def test_gpus_that_are_fewer_than_the_plan_needs_are_named(clone: Clone, clean: Made) -> None:
    clean(count=1)

    done, found = check(clone)

    assert done.code == 3
    assert of(found, "gpu")["found"] == "GPU 1 of the plan is not there (nvidia-smi lists 0)"


def test_a_torch_for_a_newer_cuda_than_the_drivers_is_refused(clone: Clone, clean: Made, linked: list[LabHost]) -> None:
    clean(venv=provoke.venv(linked[0], torch="2.99.0+cu140"))

    done, found = check(clone)

    assert done.code == 3
    assert of(found, "driver")["found"] == "torch is built for CUDA 14.0, the driver is for 13.0"


@pytest.mark.parametrize(
    ("has", "said"), [({"sgl_kernel": "0.3.9"}, "sgl_kernel 0.3.9 is older"), ({}, "sgl_kernel is not installed")]
)
def test_kernels_that_are_missing_or_too_old_are_said_with_the_version_needed(
    clone: Clone, clean: Made, linked: list[LabHost], has: dict[str, str], said: str
) -> None:
    venv = provoke.venv(linked[0], **has)
    provoke.pins(linked[0], **{"sgl-kernel": "0.3.21"})
    clean(venv=venv)

    _, found = check(clone)

    finding = of(found, "kernels")
    assert said in finding["found"] and finding["needed"] == "0.3.21"


def test_a_compiler_that_the_settings_need_is_looked_for_as_a_non_login_shell_sees_it(
    clone: Clone, clean: Made, linked: list[LabHost]
) -> None:
    clean({"attention_backend": "flashinfer"})
    shell(linked[0], "mkdir /root/few; for p in sh bash python3 cat dirname; do ln -s $(command -v $p) /root/few; done")
    (disk(linked[0]) / ".bashrc").write_text("export PATH=/root/smi:/root/few\n")

    _, found = check(clone)

    assert {each["topic"] for each in found} == {"compiler"}
    assert any("nvcc is neither on the PATH of a non-login shell nor in CUDA_HOME" in each["found"] for each in found)
    assert any("there is no ninja" in each["found"] for each in found)
