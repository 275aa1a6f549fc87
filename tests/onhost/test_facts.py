"""facts: a host in one quick look."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from roles.onhost import sockets
from roles.onhost.facts import kills_user_processes
from roles.onhost.listening import Listener, _read, listeners
from tests.onhost.driver import OnHost, eventually, free_port

NVIDIA_SMI = """#!/bin/sh
case "$1" in
--query-gpu=*) printf '0, NVIDIA H200, GPU-a, 143771, 662\\n1, NVIDIA H200, GPU-b, 143771, [N/A]\\n';;
*) printf 'GPU-a, %s, 652\\nGPU-b, 99999999, [N/A]\\n' "$HOLDER";;
esac
"""


def gpus_of(host: OnHost, folder: Path, text: str) -> None:
    """Put a stand-in for nvidia-smi first on the host's PATH."""
    program = folder / "nvidia-smi"
    program.write_text(text)
    program.chmod(0o755)
    host.environment["PATH"] = f"{folder}:{host.environment['PATH']}"


def test_a_bare_host_is_described(host: OnHost) -> None:
    told = host.one("facts", "facts", ports=[free_port()])
    assert told["hostname"] == os.uname().nodename and told["arch"] == os.uname().machine
    assert (told["uid"], told["runs"], told["bash"]) == (os.getuid(), [], True)
    assert told["disk_free_mib"] > 0 and told["mem_available_mib"] > 0
    assert [each["holder"] for each in told["ports"].values()] == [None]


def test_a_held_port_names_its_process_and_its_run(host: OnHost) -> None:
    ours = free_port()
    host.start_server(port=ours, ports=[ours], options="--bind-after 0")
    eventually(lambda: (host.run()["port"]["holder"] or {}).get("ours"))
    with socket.socket(socket.AF_INET6) as foreign:
        foreign.bind(("::1", 0))
        foreign.listen()
        port = foreign.getsockname()[1]
        told = host.one("facts", "facts", ports=[ours, port])
    assert (told["ports"][str(ours)]["holder"]["run"], told["ports"][str(ours)]["holder"]["deployment"]) == (
        "r1",
        "tiny@here",
    )
    assert told["ports"][str(port)]["holder"]["pid"] == os.getpid()
    assert told["ports"][str(port)]["holder"]["run"] is None
    assert [run["run"] for run in told["runs"]] == ["r1"]


def test_a_foreign_command_line_is_short_and_without_its_secrets(host: OnHost) -> None:
    port = free_port()
    code = f"import socket, time; s = socket.create_server(('127.0.0.1', {port})); time.sleep(60)"
    secrets = ["--api-key", "s3cret", "--hf-token=s3cret", "TOKEN=s3cret", "--max-total-tokens", "2048", "x" * 999]
    with subprocess.Popen([sys.executable, "-c", code, *secrets]) as process:
        try:
            told = eventually(lambda: host.one("facts", "facts", ports=[port])["ports"][str(port)]["holder"])
        finally:
            process.kill()
    assert told["pid"] == process.pid and "s3cret" not in told["cmdline"] and len(told["cmdline"]) == 300
    assert "--api-key ***" in told["cmdline"] and "--max-total-tokens 2048" in told["cmdline"]


def test_gpus_and_who_holds_them(host: OnHost, tmp_path: Path) -> None:
    host.environment["HOLDER"] = str(os.getpid())
    gpus_of(host, tmp_path, NVIDIA_SMI)
    told = host.one("facts", "facts")
    first, second = told["gpus"]
    assert first == {"index": 0, "name": "NVIDIA H200", "uuid": "GPU-a", "total_mib": 143771, "used_mib": 662}
    assert second["used_mib"] is None and "gpu_error" not in told
    holder, hidden = told["gpu_holders"]
    assert (holder["index"], holder["pid"], holder["used_mib"], holder["run"]) == (0, os.getpid(), 652, None)
    assert (hidden["index"], hidden["pid"], hidden["cmdline"]) == (1, 99999999, None)


def test_a_driver_that_fails_says_why(host: OnHost, tmp_path: Path) -> None:
    gpus_of(host, tmp_path, "#!/bin/sh\necho 'NVIDIA-SMI has failed because it could not talk'; exit 9\n")
    told = host.one("facts", "facts")
    assert told["gpus"] == [] and told["gpu_error"] == "NVIDIA-SMI has failed because it could not talk"


@pytest.mark.parametrize("given", ["venv", "python"])
def test_the_version_of_sglang_is_read_from_its_folder(host: OnHost, tmp_path: Path, given: str) -> None:
    (tmp_path / "venv/lib/python3.12/site-packages/sglang-0.5.23.dist-info").mkdir(parents=True)
    (tmp_path / "venv/lib/python3.12/site-packages/sglang_kernel-0.3.dist-info").mkdir()
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/python").symlink_to(sys.executable)
    where = {"venv": tmp_path / "venv", "python": tmp_path / "venv/bin/python"}[given]
    told = host.one("facts", "facts", models=["/no/such", str(tmp_path)], **{given: str(where)})
    assert told["venv"] == {"python": str(tmp_path / "venv/bin/python"), "exists": True, "sglang": "0.5.23"}
    assert told["models"] == {"/no/such": False, str(tmp_path): True}


def test_a_venv_that_is_not_there_is_told(host: OnHost, tmp_path: Path) -> None:
    told = host.one("facts", "facts", venv=str(tmp_path / "none"))["venv"]
    assert told["exists"] is False and told["sglang"] is None


def test_facts_are_quick(host: OnHost) -> None:
    took = []
    for _ in range(3):
        frames = host.frames("facts", ports=[free_port(), free_port()])
        took.append(frames[1]["t"] - frames[0]["t"])
    print(f"facts: {min(took):.3f} s")
    assert min(took) < 1  # 0.03 s where nothing else runs


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_to_an_ordinary_user_a_stranger_on_a_port_has_no_pid_but_a_name() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            held.close()
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(into, json.dumps(sockets.holder(port)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        told = json.loads(os.read(out, 9999))
    assert (told["pid"], told["cmdline"], told["uid"], told["user"]) == (None, None, 0, "root")


@pytest.mark.parametrize("ask", [listeners, lambda port: list(_read(port))])
@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_both_ways_to_find_a_listening_socket_agree(
    ask: Callable[[int], list[Listener]], family: socket.AddressFamily, address: str
) -> None:
    with socket.socket(family) as held, socket.socket(family) as other:
        for each in (held, other):
            each.bind((address, 0))
            each.listen()
        found = ask(held.getsockname()[1])
        inode = os.fstat(held.fileno()).st_ino
        assert [(each.inode, each.uid, each.address) for each in found] == [
            (inode, os.getuid(), socket.inet_pton(family, address))
        ]
        with socket.create_connection(held.getsockname()[:2]) as connected:
            assert ask(connected.getsockname()[1]) == []  # a connection is no listener


def test_root_is_not_killed_at_logout() -> None:
    assert kills_user_processes(0) is False
