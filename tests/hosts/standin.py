"""Real logs -> the stand-in's lines, and the stand-in put where a lab's hosts look for SGLang."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

from roles.lab.commands import SYSTEM_PATH
from roles.plan.flags import options_of

LOGS = Path(__file__).parents[1] / "logs"
SERVER = Path(__file__).with_name("standin_server.py")
VERSION = "0.5.23"
STAMP = re.compile(r"^\[\d{4}-\d\d-\d\d [\d:]+(?: PP0 TP0)?\] ")
SITE = "venv/lib/python3.11/site-packages"
INSTALLED = f"{SITE}/sglang-{VERSION}.dist-info"
PARSER = """
import argparse, json, pathlib

TAKES = {"none": None, "one": {}, "maybe": {"nargs": "?"}, "some": {"nargs": "+"}, "many": {"nargs": "*"}}


class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        for row in json.loads(pathlib.Path(__file__).with_name("options.json").read_text()):
            takes = TAKES[row["takes"]]
            more = {"action": "store_true"} if takes is None else dict(takes, choices=row["choices"])
            if row["flags"] != ["--help"]:
                parser.add_argument(*row["flags"], dest=row["dest"], **more)
"""
LAUNCHER = """#!/bin/sh
# Stands where SGLang's Python would: `bin/python -m sglang.launch_server ...`
case $1 in -c) PYTHONPATH={site} exec {python} -S "$@" ;; esac
exec {python} -S -E {folder}/server.py "$@"
"""


def install(opt: Path, seen_at: str) -> None:
    """A virtualenv and a model in `opt`, which a host sees as `seen_at`."""
    python, folder = opt / "venv/bin/python", opt / "standin"
    for made in (python.parent, folder, opt / "models/tiny-llama", opt / INSTALLED):
        made.mkdir(parents=True, exist_ok=True)
    (opt / "models/tiny-llama/config.json").write_text('{"model_type": "llama"}\n')
    (opt / "models/tiny-llama/tokenizer_config.json").write_text("{}\n")
    shutil.copy(SERVER, folder / "server.py")
    (folder / "lines.json").write_text(json.dumps(lines(), ensure_ascii=False), encoding="utf-8")
    _parser(opt / SITE / "sglang/srt")
    python.write_text(LAUNCHER.format(python=_python(), folder=f"{seen_at}/standin", site=f"{seen_at}/{SITE}"))
    python.chmod(0o755)


def _parser(folder: Path) -> None:
    """The real one's flags, so that what the real one refuses is refused here too."""
    folder.mkdir(parents=True, exist_ok=True)
    options = {id(option): option for option in options_of(VERSION).values()}.values()
    rows = [{"flags": o.flags, "dest": o.dest, "takes": o.takes, "choices": o.choices or None} for o in options]
    (folder / "options.json").write_text(json.dumps(rows))
    (folder / "server_args.py").write_text(PARSER)


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
        "crash_up": [_text(line) for line in _read("port-in-use")[-3:]],
        "model_path": _from(_read("model-path-not-there"), "Traceback (most recent call last)"),
        "arguments": _read("ambiguous-pp")[-1:],
        "divide": _from(_read("pp3-two-nodes-do-not-divide"), "Traceback (most recent call last)"),
        "warmup": _from(_read("tp1-proxy-catches-warmup"), "Initialization failed. warmup error"),
        "taken": _texts(_read("port-in-use"), "address already in use"),
        "dummy": _texts(_read("2node-tp2pp2-own-addresses-up.node1"), "Dummy health check server"),
    }


def _read(name: str) -> list[str]:
    return (LOGS / f"cpu-{VERSION}-{name}.log").read_text(encoding="utf-8").splitlines()


def _find(found: list[str], words: str) -> int:
    return next(i for i, line in enumerate(found) if words in line)


def _from(found: list[str], words: str) -> list[str]:
    return found[_find(found, words) :]


def _text(line: str) -> str:
    return STAMP.sub("", line)


def _texts(found: list[str], words: str) -> list[str]:
    return [_text(line) for line in found if words in line]
