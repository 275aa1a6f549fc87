"""The real sglang-router in front of stand-in replicas: they leave it before a change and join again after."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from roles.inventory import Host, Profile
from roles.inventory.errors import InputError
from roles.lab.host import LabHost
from roles.plan import plan_for
from roles.plan.router import plan_router, url_of
from tests.hosts import labs
from tests.hosts.clone import Clone, eventually

ALL, PORT, ROUTER = "lab1,lab2,lab3", 31980, 31990


@pytest.fixture(scope="module")
def routed() -> Iterator[list[LabHost]]:
    """Three hosts that see a virtual environment with sglang-router, from the package index set up here."""
    with labs.made("router", 3) as hosts:
        venv = Path(hosts[0].record.opt) / "router"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        argv = [str(venv / "bin/python"), "-m", "pip", "install", "-q", "sglang-router==0.3.2"]
        if subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            pytest.skip("sglang-router 0.3.2 cannot be installed here")
        yield hosts


@pytest.fixture
def fleet(tmp_path: Path, routed: list[LabHost]) -> Iterator[Clone]:
    """Three replicas of the stand-in, up, with the router in front of them."""
    clone = Clone(tmp_path / "clone").make().hosts(routed).profile("one", PORT, layout={"tp": 1})
    clone.ok("deploy", "--host", ALL, "--profile", "one", "--replicas", timeout=120)
    words = ("--hosts", ALL, "--profile", "one", "--policy", "round_robin", "--port", str(ROUTER))
    done = clone.ok("router", *words, "--venv", f"{routed[0].opt}/router", timeout=150)
    assert done.out.count("well") == 3, done
    yield clone
    clone.inv("teardown", "--host", ALL, "--all", timeout=120)
    clone.close()


class Requests:
    """Steady requests to the router from four threads, for as long as the block runs; `failed` has a line each."""

    def __init__(self, host: LabHost) -> None:
        self._url = f"http://{host.address}:{ROUTER}/v1/chat/completions"
        self.good, self.failed = 0, list[str]()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(4)]

    def __enter__(self) -> Requests:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _ask(self) -> None:
        body = json.dumps({"model": "tiny", "max_tokens": 4, "messages": [{"role": "user", "content": "hello"}]})
        while not self._over.is_set():
            asked = urllib.request.Request(self._url, body.encode(), {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(asked, timeout=30) as answer:
                    assert answer.status == 200
                self.good += 1
            except Exception as error:  # any failure counts
                self.failed.append(repr(error))
            time.sleep(0.05)


def deployments(clone: Clone) -> dict[str, dict[str, object]]:
    """What `inv status` says, by name."""
    return {row["deployment"]: row for row in clone.inv("status", "--host", ALL, "--json").json["deployments"]}


@pytest.mark.hosts
@pytest.mark.slow
def test_a_rolling_change_behind_the_router_loses_no_request(fleet: Clone, routed: list[LabHost]) -> None:
    fleet.profile("one", PORT, layout={"tp": 1}, environment={"STANDIN_SECONDS": "1"})
    with Requests(routed[0]) as requests:
        eventually(lambda: requests.good > 20)
        rolling = fleet.ok("deploy", "--host", ALL, "--profile", "one", "--rolling", timeout=180)
        before = requests.good
        eventually(lambda: requests.good > before + 20)

    assert requests.failed == []
    assert rolling.err.count("no new requests for") == 3 and rolling.err.count("again") == 3, rolling.err


@pytest.mark.hosts
@pytest.mark.slow
def test_a_replica_that_is_torn_down_leaves_the_router_and_status_shows_the_tree(
    fleet: Clone, routed: list[LabHost]
) -> None:
    with Requests(routed[0]) as requests:
        eventually(lambda: requests.good > 20)
        fleet.ok("teardown", "--host", "lab2", "--name", "one@lab2")

    assert requests.failed == []
    assert deployments(fleet)["router@lab1"]["sentence"] == "serves 2 of 2 replicas"
    drawn = fleet.ok("status", "--host", ALL).out
    assert "├ one@lab1" in drawn and "└ one@lab3" in drawn, drawn


@pytest.mark.hosts
@pytest.mark.slow
def test_a_replica_that_dies_is_named(fleet: Clone, routed: list[LabHost]) -> None:
    pid = routed[2].exec(["pgrep", "-f", "sglang::scheduler"]).stdout.split()[0]

    routed[2].exec(["kill", "-9", pid])

    eventually(lambda: "; not well: " in str(deployments(fleet)["router@lab1"]["sentence"]), within=60)
    assert deployments(fleet)["one@lab3"]["state"] in ("lost", "gone")


def host(name: str = "gw", **fields: object) -> Host:
    return Host.model_validate({"name": name, "venv": "/srv/venv", **fields})


def replica(name: str, **fields: object) -> Profile:
    return Profile.model_validate({"name": "one", "model": "/srv/model", "port": 31000, "host": "0.0.0.0", **fields})


def test_the_plan_names_each_replica_as_the_router_reaches_it() -> None:
    one = plan_for(replica("one"), [host("a", internal="10.0.0.7")])
    two = plan_for(replica("one"), [host("b", internal="fd00::8")])

    plan = plan_router(host(), [one, two], "round_robin", 30080)

    assert (url_of(one), url_of(two)) == ("http://10.0.0.7:31000", "http://[fd00::8]:31000")
    assert plan.argv[:3] == ("/srv/venv/bin/python", "-m", "sglang_router.launch_router")
    assert plan.argv[-2:] == plan.workers and (plan.name, plan.ports) == ("router@gw", (30080, 30081))
    assert plan.hash == plan_router(host(), [one, two], "round_robin", 30080).hash


@pytest.mark.parametrize(
    ("fields", "policy", "port", "words"),
    [
        ({}, "fastest", 30080, "not a policy"),
        ({}, "random", 65535, "not a port"),
        ({}, "random", 31000, "is the port of one@gw"),
        ({"host": "127.0.0.1"}, "random", 30080, "listens on 127.0.0.1 alone"),
    ],
)
def test_what_cannot_serve_is_refused(fields: dict[str, object], policy: str, port: int, words: str) -> None:
    one = plan_for(replica("one", **fields), [host()])

    with pytest.raises(InputError, match=words):
        plan_router(host(), [one], policy, port)
