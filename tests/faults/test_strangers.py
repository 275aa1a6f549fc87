"""Somebody else on the port: refused beforehand, never called up, never touched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from roles.lab.host import LabHost
from tests.hosts import seen
from tests.hosts.clone import Clone, eventually, finished
from tests.hosts.labs import disk

pytestmark = pytest.mark.hosts
SMALL = ("deploy", "--host", "lab", "--profile", "small")
# Answers 200 to whatever it is asked, as a server of somebody else's would.
STRANGER = """
import http.server, json, sys
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        told = {"tp_size": 2, "pp_size": 2, "nnodes": 1, "port": int(sys.argv[1]), "served_model_name": "tiny"}
        content = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    do_POST = do_GET
http.server.ThreadingHTTPServer((sys.argv[2], int(sys.argv[1])), Answers).serve_forever()
"""


@contextmanager
def stranger(host: LabHost, port: int, address: str = "0.0.0.0") -> Iterator[int]:
    """A server that is not ours on the host's port; gives its pid (this machine's number for it)."""
    argv = [*host.inside(), "python3", "-c", STRANGER, str(port), address]
    with subprocess.Popen(argv) as process:
        try:
            eventually(lambda: f":{port:04X} " in host.exec(["cat", "/proc/net/tcp"]).stdout)
            pids = [pid for pid, argv in seen.processes(host).items() if str(port) in argv and STRANGER in argv]
            yield pids[-1]
        finally:
            process.kill()
            for pid, argv in seen.processes(host).items():
                if STRANGER in argv and "nsenter" not in argv[0]:
                    seen.kill(pid)


def test_a_port_that_is_taken_is_refused_before_anything_is_started(clone: Clone, host: LabHost, port: int) -> None:
    with stranger(host, port):
        done = clone.inv(*SMALL)

        assert done.code == 3
        assert f"port {port}" in done.err
        assert "python3 -c" in done.err
        assert "pid " in done.err
        assert seen.runs(host) == {}
        assert seen.servers(host) == []


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_a_port_that_is_taken_during_loading_is_never_called_up(
    clone: Clone, host: LabHost, port: int, address: str
) -> None:
    clone.profile("small", port, environment={"STANDIN_HOLD": "loading", "STANDIN_UNBOUND": "1"})
    deploying = clone.start(*SMALL, "--json")
    eventually(lambda: seen.mains(host))

    with stranger(host, port, address) as theirs:
        (disk(host) / f"go-{port}").touch()
        done = finished(deploying)

        assert theirs in seen.processes(host)
    assert done.code == 5
    assert (done.json["verdict"]["kind"], done.json["up"]) == ("foreign", False)
    assert "python3 -c" in done.json["verdict"]["sentence"]
    assert seen.servers(host) == []


def test_a_server_that_finds_its_port_taken_says_so_itself(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_HOLD": "bind"})
    deploying = clone.start(*SMALL)
    eventually(lambda: seen.mains(host))

    with stranger(host, port):
        (disk(host) / f"go-{port}").touch()
        done = finished(deploying)

    assert done.code == 5
    assert f"port {port}" in done.out


def test_status_tells_of_a_stranger_where_the_server_was(
    clone: Clone, host: LabHost, port: int, new_clone: Callable[[str], Clone]
) -> None:
    clone.profile("small", port, environment={"STANDIN_HOLD": "ready", "STANDIN_UNBOUND": "1"})
    deploying = clone.start(*SMALL, "--keep")
    eventually(lambda: "Uvicorn running" in "".join(p.read_text() for p in disk(host).glob(".allranks/runs/*/*.log")))

    with stranger(host, port):
        assert finished(deploying).code == 5
        status = clone.inv("status", "--host", "lab")

    assert status.code == 5
    assert "python3 -c" in status.out
