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
