"""The real SGLang on this machine's CPU, installed once per clone and shown to every lab host.

Pins and order are what makes it work: torch first and as a CPU build, then everything else without pip's resolver,
which would exchange it for a CUDA build.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from roles.inventory.errors import AllranksError, InputError
from roles.lab import pip
from roles.lab.folder import Folder
from roles.lab.pythons import to_build_on

HERE = Path(__file__).parent
PINS = HERE / "sglang-cpu.txt"
TORCH = "torch==2.13.0"
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
MODEL = "tiny-llama"
SIZES = "about 330 MB to download, 1.6 GB on disk"  # measured with the pins on x86-64
NEEDED_GB = 2.5  # what is installed, and the largest wheel beside it while it is unpacked

Say = Callable[[str], None]


def sglang(root: Path, say: Say) -> Path:
    """Install what is missing; return the folder. A complete install is recognised by its stamp, in milliseconds."""
    opt = Folder.of(root).opt
    stamp, wanted = opt / "stamp", _fingerprint()
    if stamp.exists() and stamp.read_text() == wanted:
        say(f"SGLang for the lab is in {opt}")
        return opt
    python = to_build_on()
    _room_for(opt)
    stamp.unlink(missing_ok=True)
    say(f"SGLang for the lab goes to {opt} (CPU build, once): {SIZES}; a run that was stopped goes on where it was")
    for name, step in _steps(opt, python, say):
        began = time.monotonic()
        step()
        say(f"  {name:34} {time.monotonic() - began:6.1f} s")
    stamp.write_text(wanted)
    return opt


def _steps(opt: Path, python: str, say: Say) -> Sequence[tuple[str, Callable[[], object]]]:
    venv = opt / "venv"
    return (
        ("virtualenv", lambda: _make_venv(venv, python)),
        (f"{TORCH}, CPU build", lambda: _torch(venv, say)),
        ("SGLang and what it needs", lambda: pip.install(venv, "--no-deps", "-r", str(PINS))),
        ("stand-ins for GPU kernels", lambda: _stand_ins(venv)),
        (f"model {MODEL}", lambda: _model(venv, opt / "models" / MODEL)),
        ("does it import?", lambda: _own(venv, "-c", "import sglang.srt.server_args")),
    )


def _fingerprint() -> str:
    made_of = [path.read_bytes() for path in (PINS, HERE / "standins.py", HERE / "tiny_model.py")]
    return hashlib.sha256(b"\0".join([*made_of, TORCH.encode(), platform.machine().encode()])).hexdigest() + "\n"


def _room_for(opt: Path) -> None:
    opt.mkdir(parents=True, exist_ok=True)
    present = sum(path.lstat().st_size for path in opt.rglob("*") if path.is_file())
    free = (shutil.disk_usage(opt).free + present) / 1e9
    if free < NEEDED_GB:
        raise InputError(f"SGLang for the lab needs {NEEDED_GB} GB, {opt} has {free:.1f} GB free", do="make room")


def _make_venv(venv: Path, python: str) -> None:
    """Made anew when its base Python is gone."""
    works = (venv / "bin/python").exists() and _run(venv, "-c", "import pip").returncode == 0
    if not works:
        shutil.rmtree(venv, ignore_errors=True)
        _check(subprocess.run([python, "-m", "venv", str(venv)], capture_output=True, text=True, check=False), "venv")


def _torch(venv: Path, say: Say) -> None:
    """As a CPU build where one is to be had: from the indexes set up here, then from PyTorch's own."""
    if _run(venv, "-c", f"import torch; assert torch.__version__.startswith({TORCH[7:]!r})").returncode == 0:
        return
    try:
        pip.install(venv, "--no-deps", f"{TORCH}+cpu")
    except AllranksError:
        say("  no CPU build of torch on the package index set up here: trying PyTorch's own")
        try:
            pip.install(venv, "--no-deps", "--extra-index-url", CPU_WHEELS, f"{TORCH}+cpu")
        except AllranksError:
            say("  nor there: taking the CUDA build, 3 GB larger")
            pip.install(venv, TORCH)


def _stand_ins(venv: Path) -> None:
    """A .pth line imports the module whenever this Python starts: no PYTHONPATH has to be set anywhere."""
    (site,) = venv.glob("lib/python3*/site-packages")
    shutil.copyfile(HERE / "standins.py", site / "allranks_standins.py")
    (site / "allranks_standins.pth").write_text("import allranks_standins\n")


def _model(venv: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _own(venv, str(HERE / "tiny_model.py"), str(folder))


def _own(venv: Path, *arguments: str) -> None:
    _check(_run(venv, *arguments), arguments[-1])


def _run(venv: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SGLANG_USE_CPU_ENGINE": "1", "HF_HUB_OFFLINE": "1"}
    argv = [str(venv / "bin/python"), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


def _check(done: subprocess.CompletedProcess[str], what: str) -> None:
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        telling = [line.strip() for line in said if "Error" in line or "what():" in line]  # a C++ abort ends in frames
        last = (telling or said or [f"exit status {done.returncode}"])[-1]
        raise AllranksError(f"SGLang for the lab: {what}: {last[:300]}", do="remove .lab/opt and run it again")
