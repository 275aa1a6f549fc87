"""Real logs -> the stand-in's lines, and the stand-in put where a lab's hosts look for SGLang."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

from roles.lab.commands import SYSTEM_PATH

LOGS = Path(__file__).parents[1] / "logs"
SERVER = Path(__file__).with_name("standin_server.py")
VERSION = "0.5.23"
INSTALLED = f"venv/lib/python3.11/site-packages/sglang-{VERSION}.dist-info"
STAMP = re.compile(r"^\[\d{4}-\d\d-\d\d [\d:]+(?: PP0 TP0)?\] ")
LAUNCHER = """#!/bin/sh
# Stands where SGLang's Python would: `bin/python -m sglang.launch_server ...`
exec {python} -S -E {folder}/server.py "$@"
"""


def install(opt: Path, seen_at: str) -> None:
    """A virtualenv and a model in `opt`, which a host sees as `seen_at`."""
    python, folder = opt / "venv/bin/python", opt / "standin"
    for made in (python.parent, folder, opt / "models/tiny-llama", opt / INSTALLED):
        made.mkdir(parents=True, exist_ok=True)
    (opt / "models/tiny-llama/config.json").write_text('{"model_type": "llama"}\n')
    shutil.copy(SERVER, folder / "server.py")
    (folder / "lines.json").write_text(json.dumps(lines(), ensure_ascii=False), encoding="utf-8")
    python.write_text(LAUNCHER.format(python=_python(), folder=f"{seen_at}/standin"))
    python.chmod(0o755)


def _python() -> str:
    return shutil.which("python3", path=SYSTEM_PATH) or f"{sys.base_prefix}/bin/python3"


def lines() -> dict[str, list[str]]:
    """What each part of the server says, cut out of real logs."""
    up, loading = _read("tp2pp2-up-then-sigterm"), _read("tp2pp2-rank-killed-loading")
    first, last = _find(up, "PP0 TP0] Init parallel begin"), _find(up, "Started server process")
    drain = _find(up, "SIGTERM received")
    return {
        "head": [line[:600] for line in up[:first] if " PP" not in line[:30]],
        "rank": [_text(line) for line in up[first:last] if " PP0 TP0] " in line],
        "bound": [_text(line) for line in up[last : last + 6] if "INFO:" in line],
        "ready": _texts(up, "fired up and ready to roll"),
        "batch": _texts(up, "PP0 TP0] Prefill batch, #new-seq: 1, #new-token: 1,"),
        "drain": [_text(line) for line in up[drain : drain + 2]],
        "crash_loading": loading[_find(loading, "kill_process_tree called") + 1 :],
        "crash_up": [_text(line) for line in _read("pp2-up-then-sigint")[-3:]],
        "taken": _texts(_read("port-in-use"), "address already in use"),
        "dummy": _texts(_read("2node-tp2pp2-own-addresses-up.node1"), "Dummy health check server"),
    }


def _read(name: str) -> list[str]:
    return (LOGS / f"cpu-{VERSION}-{name}.log").read_text(encoding="utf-8").splitlines()


def _find(found: list[str], words: str) -> int:
    return next(i for i, line in enumerate(found) if words in line)


def _text(line: str) -> str:
    return STAMP.sub("", line)


def _texts(found: list[str], words: str) -> list[str]:
    return [_text(line) for line in found if words in line]
