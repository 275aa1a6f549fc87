"""look: the closer look before a deploy, under the oldest and the newest Python."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

from tests.onhost.driver import Frame, OnHost

NVIDIA_SMI = """#!/bin/sh
case "$*" in
*compute_cap*) echo '0, 00000000:3B:00.0, 9.0, 580.159.04, 350.00, 700.00, 2, Disabled, 39';;
*query-gpu*) echo '0, NVIDIA H200, GPU-a, 143771, 662';;
*topo*) printf '\\tGPU0\\tCPU Affinity\\n';;
*query-compute*) ;;
*) echo '| NVIDIA-SMI 580.159.04    Driver Version: 580.159.04     CUDA Version: 13.0     |';;
esac
"""


def look(host: OnHost, **asked: object) -> Frame:
    """The answer to a closer look."""
    told: Frame = host.one("facts", "facts", look={"gpus": False, **asked})["look"]
    return told


def test_room_limits_names_and_software_are_told(host: OnHost) -> None:
    told = look(host, folders=["/dev/shm", "/nowhere/deep"])
    assert told["places"]["folders"]["/dev/shm"]["free_mib"] > 0
    assert told["places"]["folders"]["/nowhere/deep"]["exists"] is False
    assert told["places"]["limits"]["nofile"]["hard"] > 0 and told["places"]["memory"]["total_mib"] > 0
    assert told["nics"]["hostname"] == os.uname().nodename and "lo" in told["nics"]["interfaces"]
    assert told["software"]["programs"]["bash"].endswith("/bash")
    assert "flags" not in told and "cards" not in told


def test_another_node_is_asked_at_its_ssh_port_and_a_refusal_is_an_answer(host: OnHost) -> None:
    peers = [{"name": "here", "address": "127.0.0.1", "port": 1}, {"name": "gone", "address": "no.invalid", "port": 22}]
    told = look(host, peers=peers)["nics"]["peers"]
    assert told["here"] == {"reached": True, "from": "127.0.0.1", "error": None}
    assert told["gone"]["reached"] is False and "has no address here" in told["gone"]["error"]


def test_a_proxys_password_stays_on_the_host_and_so_does_a_token(host: OnHost) -> None:
    host.environment.update(HTTPS_PROXY="http://ada:secret@proxy:3128", HF_TOKEN="hf_secret")
    told = look(host, environment={"HF_HUB_OFFLINE": "1"})["software"]
    assert told["proxies"]["https_proxy"] == "http://***@proxy:3128"
    assert (told["token"], told["offline"]) == (True, True)
    assert "secret" not in json.dumps(told)


def test_a_model_is_looked_at_file_by_file(host: OnHost, tmp_path: Path) -> None:
    head = json.dumps({"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}).encode()
    whole = struct.pack("<Q", len(head)) + head + b"1234"
    files = {"a": whole, "b": whole[:-1], "c": b"", "d": b"version https://git-lfs", "e": struct.pack("<Q", 3) + b"{}}"}
    for name, content in files.items():
        (tmp_path / f"{name}.safetensors").write_bytes(content)
    index = {"weight_map": {name: f"{name}.safetensors" for name in (*files, "missing")}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    told = look(host, model=str(tmp_path))["model"]
    assert (told["files"], told["missing"], told["config"]) == (6, ["missing.safetensors"], None)
    faults = {name[0]: fault for name, fault in told["broken"]}
    assert set(faults) == {"b", "c", "d", "e"}
    assert faults["b"] == f"has {len(whole) - 1} bytes, its head says {len(whole)}"
    assert faults["e"] == "has a damaged head"


def test_a_hub_model_is_found_in_the_cache_by_its_main_reference(host: OnHost, tmp_path: Path) -> None:
    snapshot = tmp_path / "hub/models--org--name/snapshots/abc"
    snapshot.mkdir(parents=True)
    (tmp_path / "hub/models--org--name/refs").mkdir()
    (tmp_path / "hub/models--org--name/refs/main").write_text("abc")
    (snapshot / "config.json").write_text('{"model_type": "llama"}')
    environment = {"HF_HUB_CACHE": str(tmp_path / "hub")}
    there = look(host, model="org/name", weights=False, environment=environment)["model"]
    absent = look(host, model="org/other", environment=environment)["model"]
    assert (there["folder"], there["config"]["model_type"]) == (str(snapshot), "llama")
    assert (absent["exists"], absent["local"]) == (False, False)


def test_gpus_are_looked_at_and_who_has_one_open_is_found(host: OnHost, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(NVIDIA_SMI)
    program.chmod(0o755)
    host.environment["PATH"] = f"{tmp_path}:{host.environment['PATH']}"
    told = look(host, gpus=True)["cards"]
    (detail,) = told["details"]
    assert (detail["compute_cap"], detail["driver_version"], detail["power_limit"]) == ("9.0", "580.159.04", "350.00")
    assert (told["cuda"], told["links"], told["openers"]) == ("13.0", "\tGPU0\tCPU Affinity\n", [])
    assert set(told["numa"]) and isinstance(told["virtualization"], str)


SGLANG = """
import argparse


class ServerArgs:
    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser) -> None:
        import nothing_like_it.at_all as hollow

        for flag in ("--tp-size", "--pp-size", "--pp-async"):
            parser.add_argument(flag, type=int)
        parser.add_argument("--kind", choices=["a", "b", *hollow.MORE])
        parser.add_argument("--old", action="store_true", help="Deprecated. Use --kind=b instead.")
"""


def an_sglang(folder: Path) -> str:
    """A Python whose SGLang has a small parser; its path."""
    (folder / "sglang/srt").mkdir(parents=True)
    (folder / "sglang/__init__.py").write_text("raise SystemExit('must not be imported')")
    (folder / "sglang/srt/server_args.py").write_text(SGLANG)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_the_installed_sglangs_own_parser_is_asked_without_what_it_imports(host: OnHost, tmp_path: Path) -> None:
    python = an_sglang(tmp_path)
    fine = look(host, python=python, argv=["--tp-size", "2", "--kind", "a"])["flags"]
    wrong = look(host, python=python, argv=["--pp", "2"])["flags"]
    assert (fine["error"], fine["cached"], "options" in fine) == (None, False, False)
    assert wrong["error"] == "ambiguous option: --pp could match --pp-size, --pp-async"
    told = {option["dest"]: option for option in wrong["options"]}
    assert (told["tp_size"]["type"], told["kind"]["choices"]) == ("int", ["a", "b"])
    assert told["old"]["deprecated"] == "--kind=b"


def test_its_answer_is_remembered_until_the_flags_change(host: OnHost, tmp_path: Path) -> None:
    python = an_sglang(tmp_path)
    look(host, python=python, argv=["--tp-size", "2"])
    assert look(host, python=python, argv=["--tp-size", "2"])["flags"]["cached"] is True
    assert look(host, python=python, argv=["--tp-size", "3"])["flags"]["cached"] is False


def test_an_sglang_that_is_broken_is_told_in_one_line(host: OnHost, tmp_path: Path) -> None:
    python = an_sglang(tmp_path)
    (tmp_path / "sglang/srt/server_args.py").write_text("raise RuntimeError('no such driver')")
    assert look(host, python=python, argv=["--tp-size", "2"])["flags"]["failed"] == "RuntimeError: no such driver"


def test_what_a_server_was_given_is_read_back_without_its_secrets(host: OnHost) -> None:
    host.environment["NCCL_DEBUG"], host.environment["SGLANG_API_KEY"] = "INFO", "s3cret"
    host.start_server(secrets={"HF_LOGIN": "s3cret-1", "OURS": "s3cret-2"})
    told = host.one("running", "running", run="r1", names=["HOME"], secrets=["HF_LOGIN", "OURS", "LACKING"])
    assert told["secrets"] == ["HF_LOGIN", "OURS"]
    assert told["environ"]["NCCL_DEBUG"] == "INFO" and told["environ"]["HOME"]
    assert "s3cret" not in json.dumps(told) and told["settings"] is None
    assert subprocess.run(["ps", "-p", str(told["pid"])], check=False, stdout=subprocess.DEVNULL).returncode == 0
