"""The lab's SGLang: the install's own words, the stand-ins, and a real server on a lab host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

import roles.lab
from roles.inventory.errors import InputError
from roles.lab import LabHost, install
from roles.lab.process import wait_until
from tests.lab.fixtures import CLONE, OPT

PORT = 31900
ENVIRONMENT = {
    "SGLANG_USE_CPU_ENGINE": "1",
    "HF_HUB_OFFLINE": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "SGLANG_CPU_OMP_THREADS_BIND": "0|1|0|1",
}
LAUNCH = f"""cd /root; {" ".join(f"{name}='{value}'" for name, value in ENVIRONMENT.items())} setsid nohup \
  /opt/allranks-lab/venv/bin/python -m sglang.launch_server --model-path /opt/allranks-lab/models/tiny-llama \
  --served-model-name tiny --load-format dummy --device cpu --host 0.0.0.0 --port {PORT} --tp-size 2 --pp-size 2 \
  --max-total-tokens 2048 --mem-fraction-static 0.1 > server.log 2>&1 < /dev/null &"""

Ssh = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def installed() -> None:
    if not (OPT / "stamp").exists():
        pytest.skip("SGLang is not installed in .lab: inv lab.up --sglang")


@pytest.mark.usefixtures("installed")
@pytest.mark.sglang
def test_a_complete_install_is_recognised_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    assert roles.lab.sglang(CLONE, print) == OPT
    assert time.monotonic() - began < 0.1
    assert capsys.readouterr().out == f"SGLang for the lab is in {OPT}\n"


@pytest.mark.skipif(os.getuid() != 0, reason="making a full disk takes root")
def test_a_full_disk_is_told_before_anything_is_downloaded(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m", "small", str(tmp_path)], check=True)
    try:
        with pytest.raises(InputError, match=r"needs 2\.5 GB, .*opt has 0\.1 GB free; make room"):
            roles.lab.sglang(tmp_path, print)
        assert list((tmp_path / ".lab/opt").iterdir()) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_every_package_is_pinned() -> None:
    lines = install.PINS.read_text().splitlines()
    packages = [line for line in lines if line and not line.startswith("#")]
    assert len(packages) > 80
    assert [line for line in packages if "==" not in line] == []


def test_what_is_missing_is_stood_in_for_and_what_is_there_is_not() -> None:
    program = """
import sys; sys.path.insert(0, "roles/lab"); import standins
import triton, triton.language as tl, sgl_kernel, json
@triton.jit
def kernel(x: tl.constexpr): return x
@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["n"])
@triton.jit
def tuned(x): return x
class Kernel(triton.runtime.JITFunction): pass
assert kernel(1) == tuned(1) == 1 and "x" not in tl and json.loads("1") == 1
try:
    import surely_not_there
except ImportError:
    print(triton.__version__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=CLONE)
    assert (done.stdout, done.stderr) == ("3.6.0\n", "")


@pytest.mark.usefixtures("installed")
@pytest.mark.hosts
@pytest.mark.sglang
@pytest.mark.slow
def test_four_ranks_of_the_real_sglang_answer_on_a_lab_host(bring_up: Callable[..., list[LabHost]], ssh: Ssh) -> None:
    (host,) = bring_up(1)
    assert ssh(host, LAUNCH).returncode == 0
    log = host.home / "root/server.log"
    is_ready = wait_until(lambda: "fired up and ready to roll" in log.read_text(errors="replace"), 400, every=1)
    assert is_ready, log.read_text(errors="replace")[-2000:]
    titles = host.exec(["ps", "-e", "-o", "args="]).stdout
    assert [f"sglang::scheduler_PP{pp}_TP{tp}" in titles for pp in (0, 1) for tp in (0, 1)] == [True] * 4
    assert _generation(host.address)


def _generation(address: str) -> str:
    asked = {"model": "tiny", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8}
    request = urllib.request.Request(
        f"http://{address}:{PORT}/v1/chat/completions",
        json.dumps(asked).encode(),
        {"Content-Type": "application/json"},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=60) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])
