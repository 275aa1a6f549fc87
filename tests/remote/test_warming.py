"""A host is connected to before it is asked: the first verb finds the program waiting, and errors are the same."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roles.inventory import Host
from roles.inventory.errors import AllranksError, Unreachable
from roles.lab.host import LabHost
from roles.remote import Remote, begin, reach
from roles.remote.warming import AbandonedError, Warming
from tests.hosts.clone import Clone, eventually, finished
from tests.hosts.reach import inventory_host, second_sshd, shell


@pytest.fixture
def dumb() -> Iterator[int]:
    """A port on this machine that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def asked(remote: Remote) -> dict[str, Any]:
    """One question over it, which closes it."""
    with remote:
        return remote.one("facts", {"workdir": remote.host.workdir}, "facts")


@pytest.mark.hosts
def test_the_first_verb_is_asked_in_the_session_that_was_begun(linked: list[LabHost], tmp_path: Path) -> None:
    with second_sshd(linked[0], tmp_path, "LogLevel VERBOSE") as there:
        target = inventory_host(linked[0], **there)
        shell(linked[0], ": > /var/log/second.log")

        assert asked(Remote(target).warm("facts"))["hostname"] == linked[0].name

        log = shell(linked[0], "cat /var/log/second.log")
    assert (log.count("Starting session"), log.count("Accepted publickey")) == (1, 1)


@pytest.mark.hosts
def test_a_host_that_lacks_the_program_gets_it_over_the_session_that_was_begun(host: LabHost) -> None:
    target = inventory_host(host, workdir="~/never-used")

    assert asked(Remote(target).warm("facts"))["hostname"] == host.name


@pytest.mark.hosts
@pytest.mark.parametrize(
    "changes",
    [
        {"port": 9},
        {"user": "nobody-here"},
        {"key": "/nowhere/key"},
        {"known_hosts": "/nowhere/known_hosts"},
        {"address": "no-such-name.invalid"},
        {"python": "/nowhere/python"},
        {"proxy_command": "echo no way >&2; exit 3"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_goes_wrong_is_told_as_it_is_without_warming(host: LabHost, changes: dict[str, Any]) -> None:
    target, told = inventory_host(host, **changes), []
    for remote in (Remote(target), Remote(target).warm("facts")):
        with pytest.raises(AllranksError) as error:
            asked(remote)
        told.append((type(error.value), str(error.value)))

    assert told[0] == told[1]


@pytest.mark.hosts
def test_what_went_wrong_once_is_tried_again_when_it_is_asked_again(host: LabHost) -> None:
    host.sshd_stop()
    try:
        remote = Remote(inventory_host(host)).warm("facts")
        with pytest.raises(Unreachable):
            remote.connection()
    finally:
        host.sshd_start()

    assert asked(remote)["hostname"] == host.name


def test_closing_lets_go_at_once_whoever_waits_for_a_host_that_says_nothing(dumb: int) -> None:
    remote = Remote(Host(name="dumb", address="127.0.0.1", port=dumb)).warm("facts")
    told: list[Exception] = []

    def ask() -> None:
        try:
            remote.connection()
        except Unreachable as error:
            told.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    time.sleep(0.1)
    began = time.monotonic()
    remote.close()
    waiting.join(5)

    assert time.monotonic() - began < 2
    assert [str(error) for error in told] == ["dumb: connection lost: closed"]


def test_what_was_begun_is_reached_once(dumb: int) -> None:
    host = Host(name="dumb", address="127.0.0.1", port=dumb)
    begin([host], "facts")

    first, second = reach(host), reach(host)

    assert first is not second
    for remote in (first, second):
        remote.close()


def test_no_more_hosts_are_begun_than_are_asked_at_once(dumb: int) -> None:
    hosts = [Host(name=f"dumb{number}", address="127.0.0.1", port=dumb) for number in range(5)]
    begin(hosts, "facts", parallel=2)

    remotes = [reach(host) for host in hosts]

    assert sum(thread.name.startswith("warm-dumb") for thread in threading.enumerate()) >= 2
    assert [remote._warming is not None for remote in remotes] == [True, True, False, False, False]
    for remote in remotes:
        remote.close()


@pytest.mark.hosts
@pytest.mark.parametrize("command", ["deploy", "check"])
def test_a_plan_that_is_refused_does_not_wait_for_a_host(clone: Clone, dumb: int, port: int, command: str) -> None:
    clone.hosts({"dumb": {"address": "127.0.0.1", "port": dumb, "gpus": 1}})
    clone.profile("large", port, layout={"tp": 8}, flags={}, model="/models/large")
    began = time.monotonic()

    done = clone.inv(command, "--host", "dumb", "--profile", "large")

    assert time.monotonic() - began < 8  # 10 s until a host that says nothing is given up
    assert done.code == 2
    assert done.out == ""
    assert [line.partition(":")[0] for line in done.err.splitlines()] == ["allranks"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["logs", "--lines", "-1"], "--lines -1: must be 0 (all) or more"),
        (["logs", "--since", "yore"], "--since yore: not a time"),
        (["logs", "--rank", "first"], "'first' is not a rank"),
        (["deploy", "--profile", "one", "--batch", "2"], "--batch, --max-failures and --deadline are for replicas"),
        (["deploy", "--profile", "one", "--parallel", "0"], "--parallel 0: must be 1 or more"),
    ],
    ids=lambda words: words[-2].strip("-") if isinstance(words, list) else "",
)
def test_what_was_typed_wrong_is_told_before_a_host_is_connected_to(
    tmp_path: Path, port: int, words: list[str], said: str
) -> None:
    clone = Clone(tmp_path / "clone").make().profile("one", port, layout={"tp": 1}, flags={}, model="/models/one")
    with socket.create_server(("127.0.0.1", 0)) as server:
        clone.hosts({"dumb": {"address": "127.0.0.1", "port": server.getsockname()[1], "gpus": 1}})

        done = clone.inv(*words, "--host", "dumb")

        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert done.code == 2 and said in done.err, done.said


def test_what_nobody_wants_any_more_is_disposed_of() -> None:
    ready, disposed = threading.Event(), threading.Event()

    def job() -> int:
        ready.wait(5)
        return 7

    warming = Warming("test", job, lambda value: disposed.set() if value == 7 else None)
    warming.abandon()
    with pytest.raises(AbandonedError):
        warming.take()
    ready.set()

    assert disposed.wait(5)


def test_what_was_not_taken_is_disposed_of_when_it_is_abandoned() -> None:
    made, disposed = threading.Event(), threading.Event()
    warming = Warming("test", made.set, lambda _: disposed.set())
    made.wait(5)
    time.sleep(0.05)

    warming.abandon()

    assert disposed.wait(5)


def test_a_proxy_command_is_ended_with_a_command_that_does_not_wait_for_it() -> None:
    program = "from roles.remote.wire import Piped; print(Piped('sleep 300')._process.pid)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert eventually(lambda: not Path(f"/proc/{done.stdout.strip()}/exe").exists())


@pytest.mark.hosts
@pytest.mark.parametrize(
    "arguments", [["status"], ["deploy", "--profile", "one"], ["logs"]], ids=lambda words: words[0]
)
@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_does_not_wait_for_hosts_that_say_nothing(
    clone: Clone, port: int, count: int, arguments: list[str]
) -> None:
    with socket.create_server(("", 0)) as server:
        names = [f"dumb{number}" for number in range(1, count + 1)]
        there = {"port": server.getsockname()[1], "gpus": 1}
        clone.hosts(
            {name: {"address": f"127.0.0.{name[-1]}", "internal": f"10.0.0.{name[-1]}", **there} for name in names}
        )
        clone.profile("one", port, layout={"tp": count}, flags={}, model="/models/one")
        command = clone.start(*arguments, "--host", ",".join(names))
        server.settimeout(30)
        for _ in names:
            server.accept()
        time.sleep(1)
        began = time.monotonic()
        command.send_signal(signal.SIGINT)

        done = finished(command)

    assert time.monotonic() - began < 5  # 10 s until a host that says nothing is given up
    assert done.code == 130
    assert "Traceback" not in done.err and "Exception" not in done.err
