"""Board and verdict on frames: what is up, what is not yet, and who is to blame."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from roles.inventory.rank import Rank
from roles.watch import Board, Stage, Watcher, due
from roles.watch.verdict import GRACE, SOON
from tests.watch.frames import (
    READY,
    board,
    exited,
    generation,
    health,
    healthy,
    log,
    milestones,
    port,
    proc,
    procs,
    said,
    scheduler_pids,
    settings,
    watched,
)

CONDITIONS = [
    ("milestones PP1 TP1", "PP1 TP1 on lab1: memory pool (is at: process started)"),
    ("procs 0", "PP0 TP0 on lab1: its process (none with the title sglang::scheduler_PP0_TP0 seen)"),
    ("ready", "ready line on lab1"),
    ("port", "port 31000 on lab1: nobody listens yet"),
    ("health", "health on lab1: no answer yet"),
    ("settings", "effective settings on lab1: not read yet"),
    ("generation", "generation on lab1: none yet"),
]


def up(on: Board | None = None) -> Watcher:
    on = on or board()
    watcher = watched(on, healthy(on))
    assert watcher.verdict(100.0).kind == "up", watcher.verdict(100.0).missing
    return watcher


def test_all_conditions_together_are_up() -> None:
    assert up().verdict(101.0).sentence == "up: 4 ranks answered, port 31000 on lab1"


@pytest.mark.parametrize(("condition", "lacking"), CONDITIONS)
def test_without_any_one_condition_it_is_not_up(condition: str, lacking: str) -> None:
    on = board()
    verdict = watched(on, healthy(on, without=condition)).verdict(101.0)

    assert verdict.kind == "loading"
    assert lacking in verdict.missing


@pytest.mark.parametrize(
    ("frame", "lacking"),
    [
        (health(status=503), "health on lab1: 503"),
        (generation(status=500), "generation on lab1: 500"),
        (procs(board(), dead=["PP1 TP0"]), "PP1 TP0 on lab1: its process (none with the title"),
    ],
)
def test_a_condition_that_is_false_is_missing(frame: dict[str, Any], lacking: str) -> None:
    on = board()
    kind = {"http": "health", "generation": "generation", "procs": "procs 0"}[frame["f"]]
    verdict = watched(on, [*healthy(on, without=kind), (0, frame)]).verdict(101.0)

    assert verdict.kind == "loading"
    assert any(text.startswith(lacking) for text in verdict.missing)


def test_the_missing_main_process_is_missing() -> None:
    on = board()
    frame = procs(on)
    frame["main"] = None
    verdict = watched(on, [*healthy(on, without="procs 0"), (0, frame)]).verdict(101.0)

    assert verdict.missing == ["main process on lab1"]


def test_the_dummy_health_of_a_second_node_is_no_health() -> None:
    on = board(nnodes=2)
    verdict = watched(on, [*healthy(on, without="health"), (1, health()), (1, generation())]).verdict(101.0)

    assert verdict.missing == ["health on lab1: no answer yet"]


def test_a_rank_of_the_second_node_is_missed_by_name_and_host() -> None:
    on = board(nnodes=2)
    late = log(milestones("PP1 TP1", upto="Load weight end"))
    verdict = watched(on, [*healthy(on, without="milestones PP1 TP1"), (1, late)]).verdict(101.0)

    assert verdict.missing == ["PP1 TP1 on lab2: memory pool (is at: weights loaded)"]
    assert "PP1 TP1 on lab2 behind at: weights loaded" in verdict.sentence


def test_loading_says_who_is_behind_whom_by_how_much_and_what_that_waits_for() -> None:
    on = board(tp=2, pp=1)
    bar = log("Loading safetensors checkpoint shards:  40% Completed | 2/5 [00:03<00:04]\n", 140.0)
    frames = [(0, log(milestones("TP1"))), (0, log(milestones("TP0", upto="Load weight begin"))), (0, bar)]

    assert watched(on, frames).verdict(140.0).sentence == (
        "loading: 1 of 2 ranks have reached memory pool; TP0 on lab1 behind at: weights loading (2 of 5 shards) "
        "for 40 s, the first at memory pool; this stage waits for the disk or the network that the weights come from"
    )


@pytest.mark.parametrize(
    "changed",
    [{"tp_size": 1}, {"pp_size": 1}, {"nnodes": 2}, {"model_path": "/else"}, {"served_model_name": "x"}, {"port": 1}],
)
def test_other_settings_than_asked_are_different(changed: dict[str, Any]) -> None:
    on = board()
    verdict = watched(on, [*healthy(on, without="settings"), (0, settings(on, **changed))]).verdict(101.0)

    assert verdict.kind == "different"
    assert next(iter(changed)) in verdict.differences[0]


def test_settings_that_sglang_fills_in_are_not_different() -> None:
    on = board(expected={"served_model_name": None, "dtype": "auto", "model_path": "/srv/model/"})
    filled = settings(on, served_model_name="/srv/model", dtype="bfloat16", model_path="/srv/model")

    assert watched(on, [*healthy(on, without="settings"), (0, filled)]).verdict(101.0).kind == "up"


def test_a_setting_that_is_not_reported_is_missing() -> None:
    on = board()
    frame = settings(on)
    del frame["settings"]["pp_size"]
    verdict = watched(on, [*healthy(on, without="settings"), (0, frame)]).verdict(101.0)

    assert verdict.missing == ["setting pp_size on lab1: the server does not report it"]


# --- somebody else's server


def test_a_foreign_holder_of_the_port_is_never_up() -> None:
    on = board()
    frames = [*healthy(on, without="port"), (0, port(ours=False, pid=99)), (0, health()), (0, generation())]
    verdict = watched(on, frames).verdict(101.0)

    assert verdict.kind == "foreign"
    assert "pid 99 of eve" in verdict.sentence
    assert "python -m other" in verdict.sentence


def test_answers_given_while_the_port_was_foreign_do_not_count_later() -> None:
    on = board()
    frames = [(0, port(ours=False)), *healthy(on, without="port"), (0, port(t=101.0))]
    verdict = watched(on, frames).verdict(102.0)

    assert verdict.kind == "loading"
    assert "health on lab1: no answer yet" in verdict.missing


# --- deaths


def test_a_rank_killed_while_loading_is_named_at_once_with_its_pid() -> None:
    on = board()
    pid = scheduler_pids(on)["PP1 TP0"]
    frames = [(0, procs(on)), (0, log(milestones("PP1 TP0", upto="Load weight begin")))]
    watcher = watched(on, [*frames, (0, procs(on, 110.0, zombie=["PP1 TP0"]))])

    assert watcher.verdict(110.05).kind == "loading"  # its last words may still come
    assert 0 < due(watcher.board, 110.05) <= SOON
    verdict = watcher.verdict(110.0 + SOON)
    assert due(watcher.board, 110.0 + SOON) == inf
    assert (verdict.kind, verdict.rank, verdict.host) == ("failed", "PP1 TP0", "lab1")
    assert verdict.sentence == f"PP1 TP0 on lab1 died (pid {pid}) while loading weights"
    assert watcher.board.ranks[Rank(1, 0)].stage is Stage.DEAD


def test_where_other_hosts_or_mains_end_may_still_say_why_a_death_is_judged_later() -> None:
    two = board(nnodes=2)
    death = procs(two, 110.0, node=1, zombie=["PP1 TP0"])
    watcher = watched(two, [(0, procs(two)), (1, procs(two, node=1)), (1, death)])
    alone = board(tp=1, pp=1)
    ended = watched(alone, [(0, procs(alone)), (0, procs(alone, 110.0, main=None))])

    for watching in (watcher, ended):
        assert watching.verdict(110.0 + SOON).kind == "loading"
        assert watching.verdict(110.0 + GRACE).kind == "failed"
    assert watched(ended.board, [(0, exited(110.1, 137))]).verdict(110.1).id == "main-killed"


def test_a_host_that_was_restarted_is_told_as_that() -> None:
    on = board()
    nothing = {"f": "procs", "t": 200.0, "main": None, "leader": None, "procs": []}
    verdict = watched(on, [*healthy(on), (0, nothing), (0, exited(200.0, None, rebooted=True))]).verdict(200.0)

    assert (verdict.kind, verdict.id) == ("lost", "restarted")
    assert verdict.sentence == "lab1 was restarted: nothing of the server is left on it"


def test_a_rank_stopped_while_loading_is_said_at_once() -> None:
    on = board()
    verdict = watched(on, [(0, procs(on)), (0, procs(on, 110.0, stopped=["PP1 TP0"]))]).verdict(110.0)

    assert verdict.kind == "loading"
    assert verdict.sentence == "loading: PP1 TP0 on lab1 is stopped by a signal; kill -CONT 4242 there wakes it"


def test_the_signal_is_told_when_the_host_or_main_tells_it() -> None:
    on = board()
    rows = [proc(4242, "sglang::scheduler_PP1_TP0", "Z", signal=9)]
    frames = [(0, procs(on)), (0, procs(on, 110.0, dead=["PP1 TP0"], extra=rows))]
    verdict = watched(on, frames).verdict(111.0)

    assert verdict.sentence == "PP1 TP0 on lab1 died (killed by SIGKILL, pid 4242) while starting"


def test_echoes_of_the_other_ranks_never_win_over_the_one_that_died() -> None:
    on = board()
    crash = said("PP0 TP0", "Scheduler hit an exception: Traceback (most recent call last):")
    crash += '  File "x.py", line 1, in f\nRuntimeError: [..pair.cc:537] Read error: Connection reset by peer\n'
    crash += said("", "Received sigquit from a child process. It usually means the child failed.")
    frames = [*healthy(on), (0, log(crash, 110.0)), (0, procs(on, 110.1, dead=["PP1 TP0", "PP0 TP0"]))]
    verdict = watched(on, [*frames, (0, exited(111.0, 137))]).verdict(112.0)

    assert verdict.kind == "lost"
    assert verdict.sentence.startswith("PP1 TP0 on lab1 died")
    assert "while serving" in verdict.sentence


def test_an_exception_that_a_row_knows_wins_over_the_deaths_that_follow() -> None:
    on = board()
    crash = said("PP0 TP1", "Scheduler hit an exception: Traceback (most recent call last):")
    crash += "  raise\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    frames = [(0, procs(on)), (0, log(milestones("PP0 TP1", upto="Load weight begin"))), (0, log(crash, 110.0))]
    watcher = watched(on, frames)

    assert watcher.verdict(110.0).id == "gpu-memory"  # nothing to wait for
    watcher.feed(0, procs(on, 110.2, dead=["PP0 TP1", "PP0 TP0", "PP1 TP0", "PP1 TP1"], main=None))
    watcher.feed(0, exited(110.3, 137))
    verdict = watcher.verdict(111.0)
    assert (verdict.rank, verdict.kind) == ("PP0 TP1", "failed")
    assert verdict.cause == "the weights do not fit into this GPU's memory"


def test_an_exception_nobody_knows_is_shown_with_its_block() -> None:
    on = board()
    crash = said("PP1 TP1", "Scheduler hit an exception: Traceback (most recent call last):")
    crash += "  File \"x.py\", line 1, in f\nKeyError: 'model.layers.7'\n"
    frames = [(0, procs(on)), (0, log(crash, 110.0)), (0, exited(110.1, 137))]
    verdict = watched(on, frames).verdict(111.0)

    assert verdict.rank == "PP1 TP1"
    assert "not in the tables: KeyError: 'model.layers.7'" in verdict.sentence
    assert verdict.evidence[-1] == "KeyError: 'model.layers.7'"


def test_two_tracebacks_torn_into_each_other_belong_to_nobody() -> None:
    on = board()
    torn = said("PP0 TP0", "Scheduler hit an exception: Traceback (most recent call last):")
    torn += said("PP1 TP0", "Scheduler hit an exception: Traceback (most recent call last):")
    watcher = watched(on, [(0, log(torn + "  File\nValueError: whose?\n"))])

    assert all(not block.exception for block in watcher.board.blocks)


def test_main_killed_from_outside_is_told_as_such() -> None:
    on = board()
    everyone = [state.label for state in on.ranks.values()]
    frames = [*healthy(on), (0, procs(on, 110.0, dead=everyone, main=None)), (0, exited(110.1, None, signal=9))]
    verdict = watched(on, frames).verdict(111.0)

    assert verdict.kind == "lost"
    assert verdict.sentence == "main on lab1 was killed by SIGKILL from outside"


def test_exit_137_after_an_own_crash_is_not_the_cause() -> None:
    on = board()
    words = said("", "Received sigquit from a child process. It usually means the child failed.")
    words += said("", "kill_process_tree called: parent_pid=1, include_parent=True, pid=1")
    verdict = watched(on, [(0, log(words)), (0, exited(101.0, 137))]).verdict(102.0)

    assert "SIGKILL" not in verdict.sentence
    assert verdict.sentence == "main on lab1 ended with status 137, and its log does not say why"


def test_a_rank_dead_on_the_second_node_is_found_there() -> None:
    on = board(nnodes=2)
    frames = [*healthy(on), (1, procs(on, 110.0, node=1, dead=["PP1 TP1"]))]
    verdict = watched(on, frames).verdict(110.6)

    assert (verdict.kind, verdict.rank, verdict.host) == ("lost", "PP1 TP1", "lab2")


def test_a_clock_behind_the_host_does_not_keep_the_verdict_back() -> None:
    on = board()
    frames = [(0, procs(on)), (0, procs(on, 110.0, dead=["PP0 TP1"])), (0, procs(on, 112.0, dead=["PP0 TP1"]))]

    assert watched(on, frames).verdict(50.0).kind == "failed"


def test_what_was_said_before_up_is_no_cause_of_its_loss() -> None:
    on = board()
    early = log(said("PP0 TP0", "No space left on device"), 99.0)
    frames = [(0, early), *healthy(on), (0, procs(on, 5000.0, dead=["PP0 TP0"]))]

    assert watched(on, frames).verdict(5001.0).id == "rank-died"


# --- connection, stall, stop


def test_a_lost_connection_keeps_the_board_and_says_since_when() -> None:
    on = board()
    watcher = watched(
        on, [(0, log(milestones("PP0 TP0"))), (0, {"f": "lost_connection", "t": 110.0, "why": "timed out"})]
    )

    verdict = watcher.verdict(122.0)
    assert verdict.kind == "disconnected"
    assert verdict.sentence == "connection to lab1 lost 12 s ago (timed out); the server goes on by itself"
    watcher.feed(0, {"f": "connected", "t": 123.0})
    assert watcher.verdict(123.0).kind == "loading"
    assert watcher.board.ranks[Rank(0, 0)].stage is Stage.READY


def test_silence_is_a_stall_that_names_who_is_behind() -> None:
    on = board()
    frames = [(0, log(milestones(axes))) for axes in ("PP0 TP0", "PP0 TP1", "PP1 TP0")]
    watcher = watched(on, [*frames, (0, log(milestones("PP1 TP1", upto="Load weight begin")))])

    assert watcher.verdict(150.0, stall=60).kind == "loading"
    verdict = watcher.verdict(400.0, stall=60)
    assert verdict.kind == "stalled"
    assert verdict.sentence == (
        "nothing has moved for 5 min: PP1 TP1 on lab1 behind at: weights loading; "
        "this stage waits for the disk or the network that the weights come from"
    )


@pytest.mark.parametrize(
    "sign",
    [
        log("Loading safetensors checkpoint shards:  40% Completed | 2/5 [00:03<00:04]\n", 390.0),
        log(said("PP1 TP1", "something nobody knows"), 390.0),
        procs(board(), 390.0, extra=[proc(77, "/usr/local/cuda/bin/nvcc -c x.cu")]),
        {"f": "gpus", "t": 390.0, "gpus": [{"index": 3, "used_mib": 4000, "total_mib": 80000}]},
    ],
    ids=["shards", "a line of its own", "a compiler below it", "GPU memory"],
)
def test_any_progress_pushes_the_stall_on(sign: dict[str, Any]) -> None:
    on = board(gpus=True)
    watcher = watched(on, [(0, procs(on)), (0, log(milestones("PP1 TP1", upto="Load weight begin"))), (0, sign)])

    assert watcher.verdict(400.0, stall=60).kind == "loading"


def test_each_stage_can_have_a_stall_limit_of_its_own() -> None:
    on = replace(board(tp=1, pp=1), stalls={"loading": 500.0})
    loading, met = (
        [(0, procs(on)), (0, log(milestones("", upto=upto)))] for upto in ("Load weight b", "Init parallel e")
    )

    assert watched(on, loading).verdict(400.0, stall=60).kind == "loading"
    assert watched(on, loading).verdict(700.0, stall=60).kind == "stalled"
    assert watched(on, met).verdict(400.0, stall=60).kind == "stalled"


@pytest.mark.parametrize(("cpu_s", "kind"), [(9.0, "loading"), (5.1, "stalled")], ids=["works", "hangs"])
def test_a_compiler_pushes_the_stall_on_by_the_cpu_time_that_it_uses(cpu_s: float, kind: str) -> None:
    on = board()
    compiler = [
        procs(on, t, extra=[proc(77, "nvcc -c x.cu", cpu_s=used)]) for t, used in ((100.0, 5.0), (390.0, cpu_s))
    ]

    assert watched(on, [(0, frame) for frame in compiler]).verdict(400.0, stall=60).kind == kind


@pytest.mark.parametrize("sign", [{"cpu_s": 250.0}, {"read_bytes": 9 << 30}], ids=["CPU time", "bytes read"])
def test_a_ranks_work_is_progress_while_loading_but_not_while_waiting_for_peers(sign: dict[str, Any]) -> None:
    on = board(tp=1, pp=1)
    for upto, kind in (("Load weight begin", "loading"), ("Init parallel begin", "stalled")):
        busy = procs(on, 390.0)
        busy["procs"][1].update(sign)
        watcher = watched(on, [(0, procs(on)), (0, log(milestones("", upto=upto))), (0, busy)])

        assert watcher.verdict(400.0, stall=60).kind == kind


def test_its_own_health_requests_are_no_progress() -> None:
    on = board(tp=1, pp=1)
    access = said("", 'INFO:     127.0.0.1:48962 - "GET /health HTTP/1.1" 503 Service Unavailable')
    watcher = watched(on, [(0, procs(on)), (0, log(milestones(""))), (0, log(access, 390.0))])

    assert watcher.verdict(400.0, stall=60).kind == "stalled"


def test_a_rank_stopped_by_a_signal_is_named() -> None:
    on = board()
    frames = [*healthy(on), (0, procs(on, 110.0, stopped=["PP1 TP0"])), (0, health(130.0, 503))]
    verdict = watched(on, frames).verdict(131.0)

    assert verdict.kind == "stalled"
    assert verdict.sentence.startswith("PP1 TP0 on lab1: stopped by a signal (state T, pid 4242)")


def test_a_stop_from_outside_is_no_crash() -> None:
    on = board()
    words = log(said("", "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."), 110.0)
    everyone = [state.label for state in on.ranks.values()]
    verdict = watched(on, [*healthy(on), (0, words), (0, procs(on, 115.0, dead=everyone))]).verdict(116.0)

    assert (verdict.kind, verdict.id) == ("lost", "stopped")


# --- graphs, log levels, layouts


def test_with_graphs_expected_the_memory_pool_is_not_the_end() -> None:
    on = board(tp=1, pp=1, graphs=True)
    verdict = watched(on, healthy(on)).verdict(101.0)

    assert verdict.missing == ["TP0 on lab1: graphs captured (is at: memory pool)"]


def test_one_rank_that_captures_means_that_all_must() -> None:
    on = board(tp=2, pp=1)
    begin = log(said("TP0", "Capture target decode CUDA graph begin. backend=full, avail mem=1.0 GB"))
    verdict = watched(on, [*healthy(on), (0, begin)]).verdict(101.0)

    assert "TP1 on lab1: graphs captured (is at: memory pool)" in verdict.missing
    assert "TP0 on lab1: graphs captured (is at: graphs capturing)" in verdict.missing


def test_a_log_level_that_hides_milestones_leaves_processes_and_http() -> None:
    on = board()
    on = replace(on, quiet=True)
    frames = [(node, frame) for node, frame in healthy(on) if frame["f"] != "log"]

    assert "by processes and HTTP alone" in watched(on, frames).verdict(101.0).sentence
    assert watched(on, [f for f in frames if f[1]["f"] != "procs"]).verdict(101.0).kind == "loading"


def test_changes_are_one_line_a_milestone_with_its_time_and_how_long_it_took() -> None:
    on = board(tp=2, pp=1)
    watcher = watched(on, [])
    told = watcher.feed(0, log(milestones("TP1", upto="Load weight begin"), 112.0))
    told += watcher.feed(0, log(said("TP1", "Load weight end. elapsed=12.3 s, type=X, mem"), 124.3))

    assert [f"{c.time} {c.label} {c.text}" for c in told] == [
        "112.0 TP1 distributed starting",
        "112.0 TP1 distributed ready",
        "112.0 TP1 weights loading",
        "124.3 TP1 weights loaded in 12.3 s",
    ]
    assert {(c.host, c.node) for c in told} == {("lab1", 0)}


def test_a_rank_the_plan_does_not_have_is_a_stranger() -> None:
    on = board(tp=2, pp=1)

    assert watched(on, [(0, log(milestones("TP5")))]).board.nodes[0].strangers == {"TP5"}


def test_ready_line_alone_is_nothing() -> None:
    on = board()

    assert watched(on, [(0, log(READY))]).verdict(101.0).kind == "loading"


def test_a_cause_that_an_ordinary_line_mentions_in_passing_is_no_cause() -> None:
    on = board()
    warning = said("PP0 TP0", "x is not available: No module named 'foo'") + said(
        "PP0 TP1", "EADDRINUSE, trying another"
    )
    frames = [(0, procs(on)), (0, log(warning)), (0, procs(on, 110.0, dead=["PP1 TP0"]))]

    assert watched(on, frames).verdict(111.0).id == "rank-died"


def test_main_that_ends_for_no_known_reason_shows_its_last_lines() -> None:
    on = board()
    verdict = watched(on, [(0, log("something odd\n")), (0, exited(101.0, 9))]).verdict(102.0)

    assert verdict.sentence == "main on lab1 ended with status 9, and its log does not say why"
    assert verdict.evidence == ["something odd"]


def test_imports_are_progress_while_no_rank_is_seen() -> None:
    on = board()
    importing = [proc(10, "python -m sglang.launch_server", cpu_s=cpu) for cpu in (1.0, 30.0)]
    frames = [
        {"f": "procs", "t": t, "main": 10, "procs": [row]} for t, row in zip((100.0, 390.0), importing, strict=True)
    ]

    assert watched(on, [(0, frame) for frame in frames]).verdict(400.0, stall=60).kind == "loading"
    assert watched(on, [(0, frames[0])]).verdict(400.0, stall=60).kind == "stalled"


def test_a_rank_that_died_before_it_was_first_looked_at_is_told_by_being_the_only_one_unseen() -> None:
    on = board()
    zombie = proc(4242, "[sglang::schedul]", "Z")
    verdict = watched(on, [(0, procs(on, dead=["PP1 TP0"], extra=[zombie]))]).verdict(101.0)

    assert (verdict.kind, verdict.rank) == ("failed", "PP1 TP0")


@pytest.mark.parametrize("title", ["[python]", "python -c from multiprocessing.spawn import spawn_main(tracker_fd=5)"])
def test_a_rank_that_died_before_it_had_its_title_is_told_by_its_place_among_mains_children(title: str) -> None:
    on = board()
    tracker = proc(11, "python -c from multiprocessing.resource_tracker import main;main(4)")
    importing = [proc(pid, "python -c from multiprocessing.spawn import spawn_main(x)") for pid in (12, 13, 15, 16)]
    frame = {"f": "procs", "t": 100.0, "main": 10, "leader": 9}
    main = proc(10, "python -m sglang.launch_server", ppid=9)
    rows = [main, tracker, *importing[:2], proc(14, title, "Z", signal=9), *importing[2:]]
    verdict = watched(on, [(0, {**frame, "procs": rows})]).verdict(101.0)
    other = [main, *importing[:1], proc(13, "sglang::scheduler_PP1_TP1"), proc(14, title, "Z"), *importing[2:]]

    assert (verdict.kind, verdict.rank) == ("failed", "PP1 TP0")
    assert verdict.sentence == "PP1 TP0 on lab1 died (killed by SIGKILL, pid 14) before it said anything"
    assert watched(on, [(0, {**frame, "procs": other})]).verdict(101.0).kind == "loading"  # not in the known order


def test_a_rank_that_was_buried_unseen_is_missed_by_the_later_ones_that_are_there() -> None:
    on = board()
    main, tracker = proc(10, "python -m sglang.launch_server", ppid=9), proc(11, "[python]", ppid=1)
    here = [proc(pid, f"sglang::scheduler_{axes}") for pid, axes in ((12, "PP0_TP0"), (13, "PP0_TP1"), (15, "PP1_TP1"))]
    frame = {"f": "procs", "main": 10, "leader": 9}
    first: dict[str, Any] = {**frame, "t": 100.0, "procs": [main, tracker, *here]}

    once = watched(on, [(0, first)])
    assert once.verdict(101.0).kind == "loading"  # it may have been overlooked: another look decides
    importing = {**frame, "t": 101.0, "procs": [*first["procs"], proc(14, "python -m sglang.launch_server")]}
    assert watched(once.board, [(0, importing)]).verdict(102.0).kind == "loading"
    verdict = watched(once.board, [(0, {**first, "t": 101.0})]).verdict(102.0)
    assert (verdict.kind, verdict.sentence) == ("failed", "PP1 TP0 on lab1 died before it said anything")


def test_a_small_program_that_main_cannot_run_while_it_imports_is_no_dead_rank() -> None:
    # seen with 0.5.23: a program that is not installed (nvidia-smi) ends as a fork of main, a zombie for a moment
    on = board(tp=1, pp=1)
    main = proc(10, "python -m sglang.launch_server", ppid=9)
    frame = {"f": "procs", "t": 100.0, "main": 10, "leader": 9, "procs": [main, proc(11, "[python]", "Z")]}

    assert watched(on, [(0, frame)]).verdict(101.0).kind == "loading"


def test_a_dead_fork_of_another_rank_is_not_the_rank_that_is_still_to_come() -> None:
    on = board(tp=2, pp=1)
    main, coming = proc(10, "python -m sglang.launch_server", ppid=9), proc(12, "python -m sglang.launch_server")
    titled, spawned = proc(11, "sglang::scheduler_TP0"), proc(12, "python -c from multiprocessing.spawn import spawn_x")
    fork, own = proc(13, "[sglang::schedul]", "Z", ppid=11), proc(13, "[sglang::schedul]", "Z")
    frame = {"f": "procs", "t": 100.0, "main": 10, "leader": 9}

    def kind(*rows: dict[str, Any]) -> str:
        return watched(on, [(0, {**frame, "procs": [main, titled, *rows]})]).verdict(102.0).kind

    assert kind(spawned, fork) == "loading"  # a program that TP0 could not run
    assert kind(fork) == "loading"  # the same, before main has started TP1
    assert kind(coming, own) == "loading"  # a fork of main that was there before may become TP1 yet
    assert kind(own) == "failed"


@pytest.mark.parametrize("order", [1, -1])
def test_a_fork_with_its_parents_title_is_not_the_rank(order: int) -> None:
    on = board(tp=2, pp=1)
    main = proc(10, "python -m sglang.launch_server", ppid=9)
    ranks = [proc(11, "sglang::scheduler_TP0", start=50), proc(12, "sglang::scheduler_TP1", start=51)]
    dead = proc(13, "sglang::scheduler_TP0", "Z", ppid=11, start=90)
    younger = proc(14, "sglang::scheduler_TP1", ppid=12, start=91)
    rows = [main, *[*ranks, dead, younger][::order]]
    watcher = watched(on, [(0, {"f": "procs", "t": 100.0, "main": 10, "leader": 9, "procs": rows})])

    assert watcher.verdict(102.0).kind == "loading"
    assert [state.pid for state in watcher.board.ranks.values()] == [11, 12]


def test_a_log_read_from_its_start_has_the_times_of_its_stamps() -> None:
    on = board(tp=1, pp=1)
    stamp = 1795963074.0  # 2026-11-29 14:37:54 UTC
    hello = {"f": "hello", "t": stamp + 900, "utc_offset": 3600, "skew": 5.0}
    late = watched(on, [(0, hello), (0, log(milestones(""), stamp + 900))])
    plain = watched(on, [(0, log(milestones(""), stamp + 900))])

    assert late.board.ranks[Rank()].since == stamp - 3600 - 5
    assert plain.board.ranks[Rank()].since == stamp + 900


def test_a_log_that_cannot_be_written_is_a_failure_before_up_and_not_after() -> None:
    full = {"f": "disk", "t": 101.0, "full": True, "path": "/w/server.log"}
    on = board()

    failed = watched(on, [(0, log(milestones("PP0 TP0"))), (0, full)]).verdict(102.0)
    assert (failed.kind, failed.id, failed.host) == ("failed", "disk-full", "lab1")
    assert failed.sentence == "the disk on lab1 is full: the log cannot be written any more (/w/server.log)"
    assert watched(on, [*healthy(on), (0, full)]).verdict(102.0).kind == "up"
    assert watched(on, [(0, full), (0, {**full, "full": False})]).verdict(102.0).kind == "loading"


def test_a_server_that_listens_on_another_port_is_different_and_not_waited_for() -> None:
    watcher = Watcher(board(tp=1, pp=1))
    watcher.feed(
        0, log("[2026-11-29 12:00:00] INFO:     Uvicorn running on http://0.0.0.0:31001 (Press CTRL+C to quit)\n")
    )

    verdict = watcher.verdict(watcher.board.latest)

    assert verdict.kind == "different"
    assert "port: asked 31000, the server reports 31001" in verdict.sentence


RAISED = """Traceback (most recent call last):
  File "/srv/x.py", line 1, in f
huggingface_hub.errors.HFValidationError: Repo id must be in the form 'x': '/srv/model'.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/srv/sglang/launch_server.py", line 84, in <module>
  File "/srv/y.py", line 2, in g
"""


def test_what_nobody_caught_in_main_is_its_end_before_the_process_has_ended() -> None:
    on = board()
    alive = [(0, procs(on)), (0, log(RAISED))]

    assert watched(on, alive).verdict(100.0).kind == "loading"  # the last exception has not come yet
    known = watched(on, [*alive, (0, log("OSError: x\n"))]).verdict(100.0)
    assert (known.kind, known.id) == ("failed", "model-path")
    begin, rest = RAISED.split("huggingface", maxsplit=1)[0], "\n".join(RAISED.split("\n")[6:])
    unknown = watched(on, [(0, procs(on)), (0, log(rest + "FooError: x\n", 100.0))])
    assert unknown.verdict(100.0).kind == "loading" and unknown.verdict(100.0 + SOON).kind == "failed"
    caught = watched(on, [(0, procs(on)), (0, log(begin + "FooError: x\n"))])
    assert caught.verdict(200.0).kind == "loading"
    another = rest.replace("sglang/launch_server", "some/tool")  # a program that main runs has failed, and main lives
    assert watched(on, [(0, procs(on)), (0, log(another + "FooError: x\n"))]).verdict(200.0).kind == "loading"
