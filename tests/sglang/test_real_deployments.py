"""The real SGLang (CPU, four real ranks) on real SSH hosts, by the commands that a user types."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roles.lab.host import LabHost
from tests.hosts import labs, seen
from tests.hosts.clone import REPOSITORY, Clone, finished
from tests.sglang.real import OPT, UP, Told, listens

pytestmark = [pytest.mark.sglang, pytest.mark.hosts, pytest.mark.slow]

ODD = {
    "ODD_SPACES": "  two  words ",
    "ODD_QUOTES": 'it\'s "quoted" `here`',
    "ODD_SHELL": "$HOME ${PATH} $(id) \\n {a,b} *",
    "ODD_LINES": "first\nsecond\n",
    "ODD_JSON": '{"a": [1, "b c"], "d": null}',
}


def test_four_ranks_answer_and_what_was_asked_arrives_and_a_lost_rank_is_named_and_nothing_stays(
    clone: Clone, real: list[LabHost]
) -> None:
    host = real[0]
    odd = [word for name, value in ODD.items() for word in ("--set", f"environment.{name}={value}")]
    asked = ("--host", "lab", "--profile", "tiny-tp2pp2", *odd, "--set", "served_model_name=ti'ny $HOME {x}")
    asked += ("--set", "flags.preferred_sampling_params=" + json.dumps(json.dumps({"temperature": 0.5})))
    plan = clone.ok("show", *asked, "--json").json

    running = Told(clone.start("deploy", *asked))
    running.until("main started")
    host.cut()  # the server must go on, and the board where it was
    lost = running.until("connection lost", 60)
    host.heal()
    running.until("connected again", 60)
    up = finished(running.process, UP)

    assert up.code == 0, running.lines + up.said
    assert "goes on by itself" in lost
    assert "is up: 4 ranks answered" in up.out and "generation" in up.out
    assert all(
        f"{rank}  memory pool" in running.lines + up.err for rank in ("PP0 TP0", "PP0 TP1", "PP1 TP0", "PP1 TP1")
    )
    (main,) = [pid for pid in seen.mains(host) if seen.cmdline(pid)[0] == plan["argv"][0]]
    assert seen.cmdline(main) == plan["argv"]
    environment = seen.environment(main)
    assert {name: environment[name] for name in ODD} == ODD
    assert "unchanged" in clone.ok("deploy", *asked).out
    of_rank = clone.ok("logs", "--rank", "PP1TP0", "--lines", "5").out.splitlines()
    assert len(of_rank) == 5 and all(" PP1 TP0 " in line for line in of_rank)

    seen.kill(seen.titled(host, "sglang::scheduler_PP1_TP1"))
    began = time.monotonic()
    status = clone.inv("status")
    took = time.monotonic() - began
    assert status.code == 6, status.said
    assert "PP1 TP1" in status.out and "lab" in status.out
    print(f"a killed rank was named after {took:.2f} s")
    clone.ok("teardown", timeout=120)
    assert seen.servers(host) == []
    assert not listens(host, plan["nodes"][0]["port"] if "nodes" in plan else 31010)


def test_two_nodes_are_one_deployment_with_one_board_and_one_teardown(clone: Clone, real: list[LabHost]) -> None:
    up = clone.ok("deploy", "--host", "lab1,lab2", "--profile", "tiny-2node", timeout=UP)

    assert "lab1  PP0 TP0  memory pool" in up.err and "lab2  PP1 TP1  memory pool" in up.err
    assert "lab2  PP0" not in up.err and "lab1  PP1" not in up.err
    (row,) = clone.ok("status", "--json").json["deployments"]
    assert (row["state"], row["ranks"], row["living"]) == ("up", 4, 4)
    hosts = {line.split()[0] for line in clone.ok("logs", "--lines", "30").out.splitlines()}
    assert hosts == {"lab1", "lab2"}
    clone.ok("teardown", timeout=120)
    assert [seen.servers(host) for host in real] == [[], []]


@pytest.mark.lxc
def test_one_rank_on_a_real_container(new_clone: Callable[[str], Clone]) -> None:
    for program in ("lxc-start", "debootstrap"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if not (OPT / "stamp").exists():
        pytest.skip("SGLang is not installed for the lab")
    with labs.made("lxc", 1, kind="lxc", opt=OPT) as (container,):
        clone = new_clone("lxc").hosts([container])
        shutil.copy(REPOSITORY / "inventory/profiles/tiny-tp1.yml", clone.root / "inventory/profiles")
        up = clone.ok("deploy", "--host", "lab", "--profile", "tiny-tp1", timeout=UP)
        assert "is up: 1 rank answered" in up.out
        assert clone.ok("status", "--json").json["deployments"][0]["state"] == "up"
        clone.ok("teardown", timeout=120)
        assert seen.servers(container) == []


def test_the_sglang_that_is_tested_is_the_pinned_one() -> None:
    if not (OPT / "stamp").exists():
        pytest.skip("SGLang is not installed for the lab")
    assert list(Path(OPT).glob("venv/lib/python3*/site-packages/sglang-0.5.23.dist-info"))
