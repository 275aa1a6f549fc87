"""Leases on one host: who is changing what, until when; start and stop obey them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.onhost.driver import Frame, OnHost, eventually, free_port


def claim(who: str, what: str = "deploying", **covered: Any) -> Frame:
    """A claim of an operator's command, whose id is their name."""
    return {"id": who, "who": f"{who}@desk", "pid": 4242, "what": what, **covered}


def ask(host: OnHost, who: str, **covered: Any) -> Frame:
    """The answer about the lease that comes with the facts."""
    facts = host.one("facts", "facts", gpus=False, claim=claim(who, **covered))
    return dict(facts["lease"])


def standing(host: OnHost) -> list[str]:
    """Whose leases stand."""
    answer = host.one("lease", "leases", do="show")
    return [lease["id"] for lease in answer["leases"]]


def test_the_second_to_ask_is_told_who_has_it_from_where_since_when_and_for_what(host: OnHost) -> None:
    host.environment["SSH_CONNECTION"] = "192.0.2.7 50000 192.0.2.1 22"

    assert ask(host, "ada", deployment="a@h", ports=[31000])["held"] is True
    refused = ask(host, "bob", deployment="b@h", ports=[31000, 31001])

    assert refused["held"] is False
    assert "port 31000 is being changed by ada@desk (pid 4242, from 192.0.2.7) since 20" in refused["message"]
    assert "deploying a@h" in refused["message"] and "inv unlock" in refused["do"]
    assert refused["by"]["who"] == "ada@desk"


def test_what_has_nothing_in_common_is_not_in_the_way(host: OnHost) -> None:
    assert ask(host, "ada", deployment="a@h", ports=[31000], gpus=[0, 1])["held"]
    assert ask(host, "bob", deployment="b@h", ports=[31001], gpus=[2, 3])["held"]
    assert not ask(host, "eve", deployment="c@h", ports=[31002], gpus=[3, 4])["held"]
    assert not ask(host, "eve", deployment="a@h")["held"]


def test_a_lease_ends_by_itself_and_one_that_is_renewed_does_not(host: OnHost) -> None:
    host.frames("lease", do="take", claim=claim("ada"), deployment="a@h", ports=[31000])
    host.frames("lease", do="renew", id="ada", ttl=0.3)

    eventually(lambda: ask(host, "bob", deployment="b@h", ports=[31000])["held"])

    assert standing(host) == ["bob"]
    host.frames("lease", do="renew", id="bob", ttl=20)
    assert not ask(host, "ada", deployment="a@h", ports=[31000])["held"]
    host.frames("lease", do="drop", id="bob")
    assert standing(host) == []


def test_start_and_stop_by_somebody_else_are_refused_and_the_holder_s_are_not(host: OnHost) -> None:
    port = free_port()
    assert ask(host, "ada", deployment="a@h", ports=[port])["held"]

    refused = host.error("start", **host.request("sleep 60", deployment="b@h", ports=[port]))
    assert (refused["code"], refused["by"]["who"]) == ("leased", "ada@desk")
    host.start("sleep 60", deployment="a@h", ports=[port], lease="ada")

    refused = host.error("stop", run="r1", grace=1, wait=5)
    assert refused["code"] == "leased"
    assert host.error("stop", run="r1", grace=1, wait=5, claim=claim("bob", "stopping"))["code"] == "leased"
    host.one("stop", "stopped", run="r1", grace=1, wait=5, lease="ada")
    assert standing(host) == ["ada"]


def test_a_stop_has_a_lease_of_its_own_while_it_lasts(host: OnHost) -> None:
    host.start("trap '' TERM; for i in $(seq 600); do sleep 0.1; done", deployment="a@h")
    stopping = host.popen("stop", run="r1", grace=1.5, wait=5, claim=claim("ada", "stopping"))

    eventually(lambda: standing(host) == ["ada"])
    assert "stopping a@h" in ask(host, "bob", deployment="a@h")["message"]

    stopping.communicate(timeout=20)
    assert standing(host) == []


def test_a_lease_taken_over_is_told_to_its_holder_at_the_next_change(host: OnHost) -> None:
    ask(host, "ada", deployment="a@h", ports=[31000])

    taken = host.one("lease", "leases", do="unlock", which="a@h", who="bob@desk")

    assert [lease["who"] for lease in taken["taken"]] == ["ada@desk"]
    refused = host.error("start", **host.request("true", deployment="a@h", lease="ada"))
    assert refused["message"] == "the lease of this command was taken over by bob@desk"
    assert ask(host, "bob", deployment="a@h", ports=[31000])["held"]


def test_following_keeps_the_lease_and_a_noted_up_gives_it_back(host: OnHost) -> None:
    ask(host, "ada", deployment="a@h")
    host.start("sleep 60", deployment="a@h", lease="ada")
    following = host.follow(lease="ada", port=None, probe=None)
    host.frames("lease", do="renew", id="ada", ttl=1)

    following.tell(c="beat")
    time.sleep(1.2)
    assert standing(host) == ["ada"]

    following.tell(c="up")
    following.kind("noted")
    assert standing(host) == []


def test_a_follower_is_told_that_its_lease_was_taken_over(host: OnHost) -> None:
    ask(host, "ada", deployment="a@h")
    host.start("sleep 60", deployment="a@h", lease="ada")
    following = host.follow(lease="ada", port=None, probe=None)

    host.frames("lease", do="unlock", which="", who="bob@desk")
    following.tell(c="beat")

    assert following.kind("lease")["message"].endswith("taken over by bob@desk")


def lease_folder(host: OnHost) -> Path:
    """Where all users' leases lie."""
    return Path(host.environment["ALLRANKS_LEASES"]) / "allranks-leases"


def lease_file(host: OnHost) -> Path:
    """The one file of this user."""
    (file,) = lease_folder(host).glob("leases-*.json")
    return file


def test_a_damaged_file_or_one_of_another_boot_holds_nobody(host: OnHost) -> None:
    ask(host, "ada", deployment="a@h")
    file = lease_file(host)

    file.write_text(json.dumps({**json.loads(file.read_text()), "boot": "another"}))
    assert standing(host) == []
    file.write_text('{"boot"')
    assert standing(host) == []
    assert ask(host, "bob", deployment="a@h")["held"]


WRONG = [
    {"until": "soon"},
    {"until": float("inf")},
    {"until": float("nan")},
    {"since": -1e300},
    {"since": 1e300},
    {"gpus": 7},
    {"gpus": ["0", None, [1]]},
    {"ports": {"a": 1}},
    {"who": None},
    {"what": ["x"]},
    {"deployment": {}},
    {"home": 1},
    {"pid": "x"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_lease_that_cannot_be_understood_holds_nobody_and_its_neighbours_stand(host: OnHost, wrong: Frame) -> None:
    assert ask(host, "ada", deployment="a@h", gpus=[0], ports=[31000])["held"]
    assert ask(host, "bob", deployment="b@h", gpus=[1])["held"]
    file = lease_file(host)
    content = json.loads(file.read_text())
    content["leases"][0].update(wrong)
    file.write_text(json.dumps(content))

    assert standing(host) == ["bob"]
    assert "GPU 1 is being changed by bob@desk" in ask(host, "eve", deployment="a@h", gpus=[0, 1])["message"]
    assert ask(host, "eve", deployment="a@h", gpus=[0])["held"]


def test_a_lease_without_what_is_only_told_holds_all_the_same(host: OnHost) -> None:
    assert ask(host, "ada", deployment="a@h", gpus=[0])["held"]
    file = lease_file(host)
    content = json.loads(file.read_text())
    for name in ("what", "deployment", "pid", "address", "home", "ports"):
        del content["leases"][0][name]
    content["leases"][0]["who"] = "ada\u001b[2J\ud800"
    file.write_text(json.dumps(content))

    message = ask(host, "bob", deployment="b@h", gpus=[0])["message"]

    assert "GPU 0 is being changed by ada?[2J? (pid ?) since 20" in message
    assert host.error("start", **host.request("true", deployment="b@h", gpus=[0]))["code"] == "leased"


def test_a_file_that_is_no_end_of_brackets_holds_nobody(host: OnHost) -> None:
    ask(host, "ada", deployment="a@h")
    lease_file(host).write_text("[" * 200_000)
    assert ask(host, "bob", deployment="a@h")["held"]


def test_another_work_folder_is_no_way_around_a_lease(host: OnHost, tmp_path: Path) -> None:
    there = OnHost(host.python, host.program, tmp_path / "other")
    assert ask(host, "ada", deployment="a@h", ports=[31000], gpus=[0])["held"]

    assert "GPU 0 is being changed by ada@desk" in ask(there, "bob", deployment="b@h", gpus=[0, 1])["message"]
    assert "port 31000" in ask(there, "bob", deployment="a@h", ports=[31000])["message"]
    assert ask(there, "bob", deployment="a@h", ports=[31001], gpus=[1])["held"]  # a namesake, and no more
    refused = there.error("start", **there.request("true", deployment="b@h", ports=[31000], lease="bob"))
    assert refused["code"] == "leased"


def test_nothing_is_left_when_the_last_lease_is_given_back(host: OnHost) -> None:
    assert ask(host, "ada", deployment="a@h")["held"]
    folder = lease_file(host).parent
    assert folder.stat().st_mode & 0o7777 == 0o1777

    host.frames("lease", do="drop", id="ada")

    assert not folder.exists()


@pytest.fixture
def two_users(program: Path) -> Iterator[tuple[OnHost, OnHost]]:
    """Two users of one machine, each with a work folder of his own."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if os.getuid() != 0 or python is None:
        pytest.skip("only root can be two users, with a Python that both may run")
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o1777)
        users = []
        for uid in (65533, 65534):
            home = Path(shared) / str(uid)
            home.mkdir()
            os.chown(home, uid, uid)
            user = OnHost(python, Path(shutil.copy(program, home)), home / "work", uid)
            user.environment["ALLRANKS_LEASES"] = shared
            users.append(user)
        yield users[0], users[1]


def test_two_users_of_the_host_see_each_other_s_leases_and_may_take_them_over(two_users: tuple[OnHost, OnHost]) -> None:
    ada, bob = two_users
    assert ask(ada, "ada", deployment="a@h", gpus=[0])["held"]
    refused = ask(bob, "bob", deployment="b@h", gpus=[0])
    assert "GPU 0 is being changed by ada@desk" in refused["message"] and not refused["held"]

    bob.one("lease", "leases", do="unlock", which="a@h", who="bob@desk")

    assert ask(bob, "bob", deployment="b@h", gpus=[0])["held"]
    told = ask(ada, "ada", deployment="a@h", gpus=[0])
    assert told["message"] == "the lease of this command was taken over by bob@desk"
    assert {file.stat().st_uid for file in lease_folder(ada).iterdir()} == {65533, 65534}


def test_what_another_user_puts_in_the_way_is_not_followed(host: OnHost, tmp_path: Path) -> None:
    """A link in the folder's place is no folder; one in a file's place is no lease, and its target is not written."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / "allranks-leases").symlink_to(precious)
    assert ask(host, "ada", deployment="a@h")["held"]
    assert list(precious.iterdir()) == []
    assert [path.name for path in host.workdir.glob("leases-*")] != []

    (tmp_path / "allranks-leases").unlink()
    (tmp_path / "allranks-leases").mkdir()
    (tmp_path / "allranks-leases").chmod(0o1777)
    target = tmp_path / "target.json"
    target.write_text("untouched")
    (tmp_path / "allranks-leases/leases-0.json").symlink_to(target)
    assert ask(host, "eve", deployment="c@h")["held"]
    assert target.read_text() == "untouched"
