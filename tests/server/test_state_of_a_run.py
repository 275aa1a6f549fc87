"""What hosts say of a run -> one word and one sentence."""

from __future__ import annotations

from typing import Any

from roles.server.standing import Standing, gather
from roles.server.state import state_of

HOSTS = ["a", "b"]


def summary(node: int, **fields: Any) -> dict[str, Any]:
    """What the host of a node says of a run that is up."""
    ranks = [{"label": f"PP{node}", "title": f"sglang::scheduler_PP{node}", "pid": 7, "alive": True}]
    holder = {"pid": 5, "cmdline": "python -m sglang.launch_server", "ours": True}
    plain = {"run": "r1", "deployment": "p@a,b", "profile": "p", "hosts": HOSTS, "node": node, "started": 1.0}
    port = {"port": 30000, "holder": holder if node == 0 else None}
    return {**plain, "up": 2.0, "alive": True, "ranks": ranks, "port": port, "health": 200, **fields}


def one(*found: tuple[str, dict[str, Any]], heard: tuple[str, ...] = ("a", "b")) -> Standing:
    """The one run that these tell of."""
    (run,) = gather(found, heard)
    return run


def test_a_run_whose_ranks_all_live_on_every_host_is_up() -> None:
    state = state_of(one(("a", summary(0)), ("b", summary(1))))

    assert (state.word, state.exit_code, state.living) == ("up", 0, ("PP0", "PP1"))


def test_a_host_that_did_not_answer_is_told_apart_from_one_whose_part_is_stopped() -> None:
    silent, over = one(("b", summary(1)), heard=("b",)), one(("b", summary(1)))

    assert (silent.silent, silent.over) == (["a"], [])
    assert (over.silent, over.over) == ([], ["a"])
    assert "no answer from a" in state_of(silent).sentence
    assert state_of(over).word == "gone"
    assert "its part on a is stopped already" in state_of(over).sentence


def test_a_host_may_be_asked_under_another_name_of_it() -> None:
    run = one(("alias", summary(0)), ("b", summary(1)), heard=("alias", "b"))

    assert (run.silent, run.over) == ([], [])


def test_a_dead_rank_is_named_with_its_host_and_whether_it_was_up_before() -> None:
    crash = {"label": "PP1", "title": "sglang::scheduler_PP1", "pid": 7}

    was_up = state_of(one(("a", summary(0)), ("b", summary(1, crash=crash))))
    never_up = state_of(one(("a", summary(0, up=None)), ("b", summary(1, up=None, crash=crash))))
    killed = state_of(one(("a", summary(0)), ("b", summary(1, crash={**crash, "signal": 9}))))
    assert killed.sentence == "it was up, then PP1 on b died (killed by SIGKILL, pid 7)"

    assert (was_up.word, was_up.exit_code) == ("lost", 6)
    assert was_up.sentence == "it was up, then PP1 on b died (pid 7)"
    assert (never_up.word, never_up.exit_code) == ("failed", 5)
    assert never_up.sentence == "before it was up, PP1 on b died (pid 7)"


def test_where_several_ranks_were_gone_at_the_first_look_none_alone_is_blamed() -> None:
    crash = {"label": "PP0", "title": "sglang::scheduler_PP0", "pid": 7}
    gone = [
        {"label": "PP0", "title": "sglang::scheduler_PP0", "pid": 7, "alive": False},
        {"label": "PP1", "title": "sglang::scheduler_PP1", "pid": 8, "alive": False},
    ]

    unsure = state_of(one(("a", summary(0, hosts=["a"], ranks=gone, crash=crash)), heard=("a",)))
    told = state_of(
        one(("a", summary(0, hosts=["a"], ranks=gone, crash={**crash, "why": "exit code -9"})), heard=("a",))
    )

    assert unsure.sentence == (
        "it was up, then PP0 on a died (pid 7), and so did PP1: inv logs --explain tells which was first"
    )
    assert told.sentence == "it was up, then PP0 on a died (pid 7)"


def test_a_stranger_on_the_port_is_never_up() -> None:
    port = {"port": 30000, "holder": {"pid": 9, "cmdline": "nc -l 30000", "user": "bob", "ours": False}}

    state = state_of(one(("a", summary(0, port=port)), ("b", summary(1))))

    assert state.word == "lost"
    assert "pid 9 of bob: nc -l 30000" in state.sentence


def test_a_health_other_than_200_is_unhealthy_although_every_rank_lives() -> None:
    state = state_of(one(("a", summary(0, health=503)), ("b", summary(1))))

    assert (state.word, state.exit_code) == ("unhealthy", 6)
    assert "/health on a answers 503" in state.sentence


def test_a_run_that_was_not_confirmed_yet_is_loading() -> None:
    state = state_of(one(("a", summary(0, up=None)), ("b", summary(1, up=None))))

    assert (state.word, state.exit_code) == ("loading", 7)


def test_a_host_that_was_restarted_has_nothing_of_the_run_left() -> None:
    gone = summary(0, alive=False, rebooted=True, ranks=[{"label": "PP0", "alive": False}])

    state = state_of(one(("a", gone), ("b", summary(1))))

    assert (state.word, state.exit_code) == ("gone", 6)
    assert "a (the host was restarted)" in state.sentence
