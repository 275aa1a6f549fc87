"""What a test does to a lab host so that a check has something to find. All of it is gone after a boot of the host."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from roles.lab.host import LabHost
from tests.hosts.clone import Clone, Done
from tests.hosts.labs import disk
from tests.hosts.reach import shell

DEVICES = """
mkdir -p /run/dev && mount -t tmpfs none /run/dev && cd /run/dev
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty .
mknod nvidia0 c 1 3 && mkdir shm pts && ln -s /proc/self/fd fd && mount --bind /run/dev /dev
"""


# Stands where nvidia-smi would be: a lab host has no GPU. What it says is in the files beside it.
SMI = """#!/bin/sh
cd "$(dirname "$0")"
case "$*" in
    --query-gpu=index,name*) cat memory ;;
    --query-gpu=*) cat details ;;
    --query-compute-apps=*) cat apps ;;
    "topo -m") cat links ;;
    "topo -p2p r") cat peers ;;
    *) echo "| NVIDIA-SMI 580.82.07    Driver Version: 580.82.07    CUDA Version: 13.0 |" ;;
esac
"""


def check(clone: Clone, *more: str, hosts: str = "lab", profile: str = "small") -> tuple[Done, list[dict[str, Any]]]:
    """`inv check --json`: how it ended, and what it found beside what is well."""
    done = clone.inv("check", "--host", hosts, "--profile", profile, "--json", *more)
    assert done.out.startswith("{"), done.said
    return done, [finding for finding in done.json["findings"] if finding["level"] != "ok"]


def small_disk(host: LabHost, where: str, options: str) -> None:
    """A file system of its own at a folder of the host."""
    shell(host, f"mkdir -p {where} && mount -t tmpfs -o {options} none {where}")


def listening(host: LabHost, port: int) -> None:
    """A stranger that listens on a port."""
    shell(host, f"cd / && (setsid python3 -m http.server {port} --bind 127.0.0.1 >/dev/null 2>&1 &)")
    shell(host, f"for i in $(seq 100); do ss -ltn 2>/dev/null | grep -q :{port} && exit; sleep 0.05; done; sleep 1")


def gpu_device(host: LabHost, *, held: bool) -> None:
    """A /dev of the host's own with a GPU's device in it; `held`: a process has it open."""
    shell(host, DEVICES)
    if held:
        shell(host, "cd / && (setsid sleep 300 3</dev/nvidia0 >/dev/null 2>&1 &)")


def model(host: LabHost, shards: int = 2, **config: Any) -> Path:
    """A whole model in the host's home, as the host sees it in /root/model; its folder on this machine."""
    folder = disk(host) / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "num_attention_heads": 8, **config}))
    (folder / "tokenizer_config.json").write_text("{}")
    names = [f"model-{n + 1:05}-of-{shards:05}.safetensors" for n in range(shards)]
    for number, name in enumerate(names):
        (folder / name).write_bytes(safetensors(f"w{number}"))
    index = {"weight_map": {f"w{number}": name for number, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def safetensors(name: str, size: int = 64) -> bytes:
    """A file with one tensor."""
    head = json.dumps({name: {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(size)


def gpus(host: LabHost, count: int = 2, *, used: int = 4, peers: str = "OK", **details: str) -> Path:
    """A stand-in for nvidia-smi first on the host's PATH; `details`: laid over each GPU's. Its folder is given."""
    folder = disk(host) / "smi"
    folder.mkdir(exist_ok=True)
    (folder / "nvidia-smi").write_text(SMI)
    (folder / "nvidia-smi").chmod(0o755)
    row = {"cap": "9.0", "limit": "700.00", "most": "700.00", "ecc": "0", "mig": "Disabled", **details}
    names = [f"GPU{gpu}" for gpu in range(count)]
    told = {
        "memory": [f"{gpu}, NVIDIA H200, GPU-{gpu}, 143771, {used}" for gpu in range(count)],
        "details": [
            f"{gpu}, 00000000:{gpu + 16:02X}:00.0, {row['cap']}, 580.82.07, {row['limit']}, {row['most']}, "
            f"{row['ecc']}, {row['mig']}, 35"
            for gpu in range(count)
        ],
        "apps": [],
        "links": _matrix(names, "NV18"),
        "peers": _matrix(names, peers),
    }
    for name, lines in told.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    seen_at = folder if host.record.kind == "loopback" else Path("/root/smi")
    (disk(host) / ".bashrc").write_text(f"export PATH={seen_at}:$PATH\n")
    return folder


def _matrix(names: list[str], cell: str) -> list[str]:
    rows = ["\t".join([f" {one}", *("X" if one == two else cell for two in names)]) for one in names]
    return ["\t".join([" ", *names]), *rows]


def venv(host: LabHost, **packages: str) -> str:
    """A copy of the host's virtual environment, with these packages beside SGLang; where the host sees it."""
    place = Path("/root/venv")
    shell(host, f"cp -r {host.opt}/venv {place}")
    site = next((disk(host) / "venv/lib").glob("python3*/site-packages"))
    for name, version in packages.items():
        (site / f"{name}-{version}.dist-info").mkdir()
    return str(place)


def pins(host: LabHost, **versions: str) -> None:
    """What the SGLang of that copy was released with."""
    (info,) = (disk(host) / "venv/lib").glob("python3*/site-packages/sglang-*.dist-info")
    lines = "".join(f"Requires-Dist: {name}=={version}\n" for name, version in versions.items())
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\n{lines}")
