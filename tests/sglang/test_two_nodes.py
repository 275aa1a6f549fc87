"""The real SGLang, tp 2 x pp 2 over two hosts, and what befalls node 1, node 0 and the line between them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roles.lab.host import LabHost
from roles.lab.written import entry
from tests.hosts import clock, seen, six
from tests.hosts.clone import Clone, Lines, finished
from tests.hosts.reach import shell
from tests.performance.twenty import one
from tests.sglang.real import UP, Told, generated

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]
PAIR = ("--host", "lab1,lab2", "--profile", "tiny-2node")
PORT = 31020
OTHER = """
set -e
there=$(echo {opt}/venv/lib/python3*/site-packages)
here=/root/venv/lib/$(basename "$(dirname "$there")")/site-packages
mkdir -p "$here"
ln -s {opt}/venv/bin /root/venv/bin
ln -s "$there"/* "$here"
rm "$here"/sglang-0.5.23.dist-info
cp -r "$there"/sglang-0.5.23.dist-info "$here"/sglang-0.5.22.dist-info
"""
SOON = 90.0  # seconds within which a loss is told, evidence fetched and the rest stopped


@pytest.fixture
def pair(clone: Clone, real: list[LabHost]) -> Clone:
    """Hosts with links of their own."""
    if real[0].record.kind == "loopback":
        pytest.skip("hosts of kind loopback share this machine's network and mounts")
    return clone


@pytest.fixture
def up(pair: Clone) -> Clone:
    """The deployment, up."""
    pair.ok("deploy", *PAIR, timeout=UP)
    return pair


def watching(clone: Clone, *options: str) -> Lines:
    """`inv watch`, attached; its process is `clone.started[-1]`."""
    lines = Lines(clone.start("watch", *options))
    lines.until("watching 4 ranks on lab1, lab2")
    time.sleep(2)  # the first look at the processes
    return lines


def kept(clone: Clone) -> dict[str, str]:
    """The logs of the last run that are kept here, by file name."""
    run = max((clone.root / "runs").glob("*-tiny-2node-*"))
    return {path.name: path.read_text() for path in run.glob("node*.log")}


def both_kept(clone: Clone) -> bool:
    """Whether the evidence of both hosts is here."""
    return all("Init parallel begin" in kept(clone).get(f"node{node}.log", "") for node in (0, 1))


@contextmanager
def cut_for_good(clone: Clone, real: list[LabHost]) -> Iterator[None]:
    """Node 1's link is cut until the block has seen the loss; node 0 is clean then, and node 1 after a teardown."""
    real[1].cut()
    try:
        yield
        assert seen.servers(real[0]) == [] and both_kept(clone)
    finally:
        real[1].heal()
    clone.ok("teardown", timeout=120)
    assert seen.servers(real[1]) == []


def test_a_clock_90_s_off_is_told_and_no_sshd_is_no_loss_and_a_cut_link_is_one(
    pair: Clone, real: list[LabHost]
) -> None:
    clock.wrong(real[1], -90)

    came = pair.ok("deploy", *PAIR, timeout=UP)

    assert "lab2: its clock is -90 s from this machine's" in came.err
    first, second = (
        [float(seconds) for seconds in re.findall(rf"([\d.]+) s  {host}  PP.*memory pool", came.err)]
        for host in ("lab1", "lab2")
    )
    assert all(abs(a - b) < 20 for a in first for b in second) and len(second) == 2, came.err

    real[1].sshd_stop()
    status = pair.inv("status", "--json")
    (row,) = status.json["deployments"]
    assert (status.code, row["state"], row["living"]) == (4, "up", 2) and "no answer from lab2" in row["sentence"], row
    assert list(status.json["silent"]) == ["lab2"]
    assert generated(real[0], PORT)["usage"]["completion_tokens"] == 8
    real[1].sshd_start()
    assert pair.ok("status", "--json").json["deployments"][0]["living"] == 4

    lines = watching(pair)
    with cut_for_good(pair, real):
        cut = time.monotonic()
        said = lines.until("lost: ", SOON)
        print(f"a link cut for good was called a loss after {time.monotonic() - cut:.0f} s: {said}")
        assert "lab2" in said
        assert "lab2" in lines.until("NOT all of it could be stopped", SOON)
        assert pair.started[-1].wait(30) == 6


def test_a_link_cut_while_loading_ends_it_on_both_hosts(pair: Clone, real: list[LabHost]) -> None:
    running = Told(pair.start("deploy", *PAIR))
    running.until("PP1 TP0  distributed starting")
    with cut_for_good(pair, real):
        done = finished(running.process, 120)
        assert done.code == 5, done.said
        assert "lab2" in done.out.splitlines()[0] and "NOT all of it could be stopped: lab2" in done.out, done.out


def test_a_crashed_node_1_is_a_loss_and_after_its_boot_nothing_is_left(up: Clone, real: list[LabHost]) -> None:
    lines = watching(up)

    crashed = time.monotonic()
    real[1].crash()
    said = lines.until("lost: ", SOON)

    print(f"a crashed host was called a loss after {time.monotonic() - crashed:.0f} s: {said}")
    assert "lab2" in said
    assert "lab2" in lines.until("NOT all of it could be stopped", SOON)
    assert up.started[-1].wait(30) == 6
    assert seen.servers(real[0]) == [] and both_kept(up)
    real[1].boot()
    assert real[1].answers()
    up.ok("teardown", timeout=120)


def test_one_rank_killed_on_node_1_is_named_and_kept_when_asked_for(up: Clone, real: list[LabHost]) -> None:
    lines = watching(up, "--keep-on-loss")

    killed = seen.kill(seen.titled(real[1], "sglang::scheduler_PP1_TP1"))
    said = lines.until("lost: ", SOON)

    print(f"a rank killed on node 1 was named after {time.time() - killed:.1f} s: {said}")
    assert "PP1 TP1 on lab2 died (killed by SIGKILL" in said
    assert up.started[-1].wait(60) == 6
    assert both_kept(up)
    assert seen.servers(real[0]) != []
    status = up.inv("status", "--json")
    assert status.code == 6 and "PP1 TP1" in status.json["deployments"][0]["missing"], status.said
    up.ok("teardown", timeout=120)
    assert [seen.servers(host) for host in real] == [[], []]


def test_node_0_s_main_killed_is_named_and_node_1_is_stopped(up: Clone, real: list[LabHost]) -> None:
    lines = watching(up)
    (main,) = seen.mains(real[0])

    killed = seen.kill(main)
    said = lines.until("lost: ", SOON)

    print(f"node 0's main killed was named after {time.time() - killed:.1f} s: {said}")
    assert "main on lab1 was killed by SIGKILL from outside" in said
    lines.until("what was left of it is stopped", SOON)
    assert up.started[-1].wait(30) == 6
    assert both_kept(up)
    assert [seen.servers(host) for host in real] == [[], []]


def test_a_full_disk_on_node_1_ends_it_on_both(pair: Clone, real: list[LabHost]) -> None:
    shell(real[1], "mkdir -p /root/.allranks && mount -t tmpfs -o size=80m none /root/.allranks")
    running = Told(pair.start("deploy", *PAIR))
    running.until("lab2  -  main started")
    shell(real[1], "cat /dev/zero >/root/.allranks/filler; true")

    done = finished(running.process, UP)

    assert done.code == 5, done.said
    assert "the disk on lab2 is full" in done.out and "/root/.allranks/runs/" in done.out, done.out
    assert "nothing of run" in done.out
    assert [seen.servers(host) for host in real] == [[], []]


def test_another_sglang_on_node_1_is_refused_before_anything_starts(pair: Clone, real: list[LabHost]) -> None:
    shell(real[1], OTHER.format(opt=real[1].opt))
    told = {host.name: entry(host.folder, host) for host in real}
    pair.hosts({**told, "lab2": {**told["lab2"], "venv": "/root/venv"}})

    refused = pair.inv("deploy", *PAIR)

    assert refused.code == 3, refused.said
    assert "different SGLang versions: 0.5.23 on lab1, 0.5.22 on lab2" in refused.err
    assert [seen.runs(host) for host in real] == [{}, {}]


def test_a_changed_host_key_of_node_1_is_refused_and_nothing_is_touched(
    pair: Clone, real: list[LabHost], tmp_path: Path
) -> None:
    lines = (real[0].folder.path / "known_hosts").read_text().splitlines()
    keys = [line.split(" ", 1) for line in lines]
    (tmp_path / "known").write_text(f"{keys[0][0]} {keys[0][1]}\n{keys[1][0]} {keys[0][1]}\n")
    pair.hosts(real, known_hosts=str(tmp_path / "known"))

    refused = pair.inv("deploy", *PAIR, "--accept-new-host-key")

    assert refused.code == 4, refused.said
    assert "lab2: its host key CHANGED" in refused.err
    assert [seen.runs(host) for host in real] == [{}, {}]
    assert seen.onhosts(real[1]) == []


def test_it_comes_up_over_ipv6_alone(pair: Clone, real: list[LabHost], tmp_path: Path) -> None:
    with six.only_six(real, tmp_path) as ways:
        pair.hosts({host.name: {**entry(host.folder, host), **ways[host.name]} for host in real})

        up = pair.ok("deploy", *PAIR, "--set", 'host="::"', timeout=UP)

        assert "is up: 4 ranks answered" in up.out and f"http://[{six.address(real[0])}]:{PORT}" in up.out
        assert generated(real[0], PORT, "[::1]")["usage"]["completion_tokens"] == 8
        pair.ok("teardown", timeout=120)
        assert [seen.servers(host) for host in real] == [[], []]


def test_twice_in_a_row_nothing_is_left_but_empty_files_of_sglang_itself(pair: Clone, real: list[LabHost]) -> None:
    for _ in range(2):
        row = one(pair, real)
        assert row["tokens"] == 8
        for host, left in zip(real, row["left"], strict=True):
            assert {kind: found for kind, found in left.items() if found and kind != "tmp"} == {}
            sizes = shell(host, f"stat -c '%s %F' {' '.join(left['tmp'])}") if left["tmp"] else ""
            assert set(sizes.splitlines()) <= {"0 regular empty file"}
