"""follow: every byte of the log once and at once, deaths within a tenth of a second, and nothing left behind."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from tests.onhost.driver import Frame, OnHost, eventually, free_port, session_of

WRITER = """
import sys, time
out, begin = sys.stdout, time.time()
for i in range(6000):
    print("[%.6f] line %d " % (time.time(), i) + "x" * 100, flush=True)
    time.sleep(max(0, begin + i / 2000 - time.time()))
"""


def python(code: str) -> str:
    """A shell command that runs this code."""
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def test_a_killed_rank_is_told_at_once_and_named_for_good(host: OnHost) -> None:
    host.start_server(("PP0 TP0", "PP0 TP1"), "--crash-pause 0.5")
    following = host.follow()
    seen = following.kind("procs")
    assert {"sglang::scheduler_PP0_TP0", "sglang::detokenizer"} <= {process["title"] for process in seen["procs"]}
    victim = next(p["pid"] for p in seen["procs"] if p["title"] == "sglang::scheduler_PP0_TP1")
    os.kill(victim, signal.SIGKILL)
    killed = time.time()
    told = following.until(
        lambda f: f["f"] == "procs" and not any(p["pid"] == victim and p["state"] not in "ZX" for p in f["procs"])
    )
    assert told["read"] - killed < 0.3  # 0.1 s by design; a busy test machine gets as much again
    ended = following.rest()
    assert [frame["f"] for frame in ended[-2:]] == ["exit", "end"]
    assert (ended[-2]["code"], ended[-2]["signal"]) == (137, "SIGKILL")
    crash = host.run()["crash"]
    assert (crash["label"], crash["pid"]) == ("PP0 TP1", victim)


def test_without_a_follower_the_log_and_the_map_name_the_rank(host: OnHost) -> None:
    host.start_server(("TP0", "TP1"), "--crash-pause 0")
    victim = next(seat["pid"] for seat in host.run()["ranks"] if seat["label"] == "TP1")
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: not host.run()["alive"])
    assert (host.run()["crash"]["label"], host.run()["crash"]["pid"]) == ("TP1", victim)


def test_a_word_to_a_follow_that_has_just_ended_is_no_request(host: OnHost) -> None:
    process = host.popen("serve", verb="status")
    again = json.dumps({"workdir": str(host.workdir), "verb": "status"})
    out, _ = process.communicate(f'{{"c": "beat"}}\n{again}\n'.encode(), timeout=20)
    assert [json.loads(line)["f"] for line in out.splitlines()] == ["hello", "end", "hello", "end"]


def test_a_stopped_rank_shows_by_its_state(host: OnHost) -> None:
    host.start_server()
    following = host.follow()
    following.kind("procs")
    victim = host.run()["ranks"][1]["pid"]
    os.kill(victim, signal.SIGSTOP)
    stopped = time.time()
    told = following.until(lambda f: f["f"] == "procs" and any(p["state"] == "T" for p in f["procs"]))
    assert told["read"] - stopped < 0.3
    assert [p["pid"] for p in told["procs"] if p["state"] == "T"] == [victim]


@pytest.mark.parametrize(("command", "code"), [("/no/such/python -m x", 127), ("true", 0), ("bash -c 'exit 3'", 3)])
def test_a_script_that_ends_at_once_gives_its_log_and_code(host: OnHost, command: str, code: int) -> None:
    host.start(command)
    following = host.follow()
    frames = following.rest()
    assert [frame["f"] for frame in frames[-2:]] == ["exit", "end"] and frames[-2]["code"] == code
    assert ("/no/such/python" in following.log()) == (code == 127)


def test_a_killed_shell_does_not_hide_its_server(host: OnHost) -> None:
    started = host.start_server()
    following = host.follow()
    main = following.kind("procs")["main"]
    os.kill(started["leader"]["pid"], signal.SIGKILL)
    told = following.until(lambda f: f["f"] == "procs" and f["leader"] is None)
    assert told["main"] == main and host.run()["alive"]
    assert host.one("stop", "stopped", run="r1", grace=20, wait=10)["left"] == []
    assert [frame["f"] for frame in following.rest()[-2:]] == ["exit", "end"] and not session_of(started)


def test_two_thousand_lines_a_second_arrive_whole_and_at_once(host: OnHost) -> None:
    host.start(python(WRITER))
    following = host.follow()
    following.rest(60)
    lines = following.log().splitlines()
    assert [int(line.split()[2]) for line in lines] == list(range(6000))
    late = sorted(
        frame["read"] - float(line[1:].partition("]")[0])
        for frame in following.seen
        if frame["f"] == "log"
        for line in frame["text"].splitlines()[-1:]
    )
    assert late[len(late) // 2] < 0.1  # 0.01 s where nothing else runs


def offsets_are_seamless(frames: list[Frame]) -> bool:
    """Each log frame begins where the one before ended."""
    log = [frame for frame in frames if frame["f"] == "log"]
    return all(a["to"] == b["from"] for a, b in itertools.pairwise(log))


def test_odd_bytes_and_endless_lines_arrive_and_no_character_is_torn(host: OnHost) -> None:
    host.start(
        python(
            "import sys, time; out = sys.stdout.buffer\n"
            "out.write(b'bad \\xff\\xfe end\\n' + '\\u00e9\\u4e16\\U0001f600'.encode() * 60000 + b'\\n'); out.flush()\n"
            "out.write(b'torn \\xe4'); out.flush(); time.sleep(0.5); out.write(b'\\xb8\\x96\\n' + b'x' * 3000000)"
        )
    )
    following = host.follow()
    frames = following.rest(30)
    text = following.log()
    assert text.startswith("bad \\xff\\xfe end\né世😀é") and "torn 世\n" in text
    assert text.count("é世😀") == 60000 and text.endswith("x" * 3000000)
    assert all(frame["to"] - frame["from"] <= 65536 for frame in frames if frame["f"] == "log")
    assert offsets_are_seamless(frames)


def test_a_line_without_an_end_is_shown_after_a_moment(host: OnHost) -> None:
    host.start(python("import time; print('Loading: 10 %', end='', flush=True); time.sleep(60)"))
    following = host.follow()
    assert following.kind("log", within=5)["text"] == "Loading: 10 %"


def test_following_goes_on_from_any_byte(host: OnHost) -> None:
    started = host.start("printf 'one\\ntwo\\n'; sleep 60")
    eventually(lambda: Path(started["log"]).read_bytes() == b"one\ntwo\n")
    beginning: Frame = {"from": 4}
    frame = host.follow(**beginning).kind("log")
    assert (frame["from"], frame["to"], frame["text"]) == (4, 8, "two\n")


def test_a_truncated_and_a_replaced_log_are_read_from_their_beginning(host: OnHost, tmp_path: Path) -> None:
    started = host.start("echo first; sleep 60")
    log = Path(started["log"])
    following = host.follow()
    following.kind("log")
    os.truncate(log, 0)
    assert "shorter" in following.kind("log_reset")["why"]
    with log.open("a") as file:
        file.write("second\n")
    assert following.kind("log")["text"] == "second\n"
    (tmp_path / "other").write_text("third\n")
    (tmp_path / "other").rename(log)
    assert "another file" in following.kind("log_reset")["why"]
    assert following.kind("log")["text"] == "third\n"


def test_a_log_that_is_not_there_yet_is_waited_for(host: OnHost) -> None:
    started = host.start("sleep 60")
    log = Path(started["log"])
    log.unlink()
    following = host.follow()
    following.kind("procs")
    log.write_text("late\n")
    assert following.kind("log")["text"] == "late\n"


def test_a_closed_connection_ends_the_follower_and_nothing_else(host: OnHost) -> None:
    started = host.start_server()
    following = host.follow()
    following.kind("procs")
    began = time.monotonic()
    assert following.close() == 0 and time.monotonic() - began < 1
    assert len(session_of(started)) == 5 and not host.run()["crash"]


def test_a_reader_that_goes_away_ends_the_follower(host: OnHost) -> None:
    host.start("sleep 60")
    process = host.popen("follow", run="r1")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(10) == 0


def test_a_client_without_a_beat_is_not_waited_for(host: OnHost) -> None:
    host.start("sleep 60")
    following = host.follow(no_beat=1.5)
    following.kind("procs")
    time.sleep(1)
    following.tell(c="beat")
    time.sleep(1)
    assert following.process.poll() is None
    assert following.process.wait(5) == 0


def test_a_reader_that_stands_still_costs_no_memory_and_is_heard_when_it_goes(host: OnHost) -> None:
    host.start(python("import sys\nfor i in range(100000): sys.stdout.write('y' * 999 + chr(10))"))  # 100 MB
    process = host.popen("follow", run="r1")
    assert process.stdin is not None
    time.sleep(2)
    status = Path(f"/proc/{process.pid}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    print(f"stalled follower: {memory} KiB")
    assert memory < 40_000
    process.stdin.close()
    assert process.wait(5) == 0


def test_a_reader_that_is_slow_gets_all_of_it(host: OnHost) -> None:
    host.start(python("import sys\nfor i in range(20000): sys.stdout.write('y' * 99 + chr(10))"))
    eventually(lambda: not host.run()["alive"])
    process = host.popen("follow", run="r1")
    assert process.stdout is not None
    time.sleep(1)  # the run has long ended, and a pipe holds 64 KiB
    frames = [json.loads(line) for line in process.stdout]
    assert sum(len(frame["text"]) for frame in frames if frame["f"] == "log") == 2_000_000
    assert [frame["f"] for frame in frames[-2:]] == ["exit", "end"]


def test_gpu_memory_is_told_beside_it(host: OnHost, tmp_path: Path) -> None:
    host.start("sleep 60")
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '0, NVIDIA H200, GPU-a, 143771, 662'\n")
    program.chmod(0o755)
    host.environment["PATH"] = f"{tmp_path}:{host.environment['PATH']}"
    assert host.follow(gpus=True).kind("gpus")["gpus"] == [{"index": 0, "used_mib": 662, "total_mib": 143771}]


def test_end_is_answered_and_up_is_written_down(host: OnHost) -> None:
    started = host.start_server()
    following = host.follow()
    following.kind("procs")
    following.tell(c="up")
    following.kind("noted")
    assert host.run()["up"] == pytest.approx(time.time(), abs=5)
    assert "sglang::scheduler_TP1" in Path(started["run_dir"], "ranks.json").read_text()
    following.tell(c="end")
    assert following.rest()[-1]["f"] == "end" and following.process.wait(5) == 0


def test_silence_is_broken_by_a_beat(host: OnHost) -> None:
    host.start("sleep 60")
    following = host.follow(watch=False)
    assert following.kind("beat", within=8)


def test_health_settings_and_a_generation_come_through_no_proxy(host: OnHost) -> None:
    port = free_port()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        host.environment[name] = "http://127.0.0.1:9"
    host.start_server(port=port, ports=[port], secrets={"SGLANG_API_KEY": "k y'"})
    following = host.follow(probe={"address": "127.0.0.1", "port": port, "model": "tiny", "prompt": "Say hello."})
    held = following.until(lambda f: f["f"] == "port" and f["holder"])
    assert held["holder"]["ours"] and held["holder"]["pid"] == host.run()["main"]
    assert following.until(lambda f: f["f"] == "http" and f["status"] == 503)
    assert following.until(lambda f: f["f"] == "http" and f["status"] == 200)["what"] == "health"
    told = following.kind("settings")
    assert told["version"] == "0.0-stand-in" and told["settings"]["attention_backend"] == "torch_native"
    assert not {"api_key", "admin_api_key", "hf_token", "a_list", "a_dict"} & set(told["settings"])
    assert {"max_total_tokens", "served_model_name"} <= set(told["settings"])
    generation = following.kind("generation")
    assert (generation["status"], generation["text"], generation["tokens"]) == (200, "Bearer k y' Say hello.", 8)


def test_a_stranger_on_the_port_is_named_and_never_asked(host: OnHost) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        held.settimeout(2)
        port = held.getsockname()[1]
        host.start("sleep 60", port=port)
        told = host.follow(probe={"address": "127.0.0.1", "port": port, "model": "tiny"}).kind("port")
        assert told["holder"]["pid"] == os.getpid() and told["holder"]["ours"] is False
        with pytest.raises(TimeoutError):
            held.accept()


def test_an_idle_follower_costs_little(host: OnHost) -> None:
    host.start_server(tuple(f"TP{n}" for n in range(8)))
    following = host.follow(port=free_port())
    following.kind("procs")
    time.sleep(1)
    path, began = Path(f"/proc/{following.process.pid}/stat"), time.monotonic()

    def cpu_seconds() -> float:
        fields = path.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = cpu_seconds()
    time.sleep(5)
    share = (cpu_seconds() - before) / (time.monotonic() - began)
    print(f"idle follower: {share:.2%} of a core")
    assert share < 0.05
