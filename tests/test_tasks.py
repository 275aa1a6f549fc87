"""The command line as a newcomer meets it: what is listed, what help says, how errors end. Nothing is connected to."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from invoke import Context

import tasks
from roles.inventory import errors
from tests.hosts.clone import INV, REPOSITORY, Clone

COMMANDS = ("show", "deploy", "status", "logs", "teardown", "lab.up", "lab.status", "lab.down")
ESCAPE = "\x1b["


@pytest.fixture
def clone(new_clone: Callable[[str], Clone]) -> Clone:
    """A clone with two hosts that are nowhere, and two profiles."""
    hosts = {"gpu-1": {"address": "192.0.2.1", "models": "/srv"}, "gpu-2": {"address": "192.0.2.2", "models": "/srv"}}
    return new_clone("clone").hosts(hosts).profile("small", 31000).profile("other", 31001)


def test_the_list_names_every_command_with_a_sentence(clone: Clone) -> None:
    listed = clone.ok("--list").out

    for command in COMMANDS:
        assert re.search(rf"^  {re.escape(command)} +[A-Z].{{20,}}", listed, re.MULTILINE), command


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_says_what_each_option_is_for(clone: Clone, command: str) -> None:
    helped = clone.ok(command, "--help").out

    options = re.findall(r"^  (--\S+)(.*)$", helped, re.MULTILINE)
    assert all(words.strip() for _, words in options), [name for name, words in options if not words.strip()]
    assert not re.search(r"^  -\w,", helped, re.MULTILINE)  # no letters: -h would be --host


def test_the_list_comes_at_once(clone: Clone) -> None:
    def seconds() -> float:
        began = time.monotonic()
        clone.ok("--list")
        return time.monotonic() - began

    assert min(seconds() for _ in range(3)) < 2.0  # half a second on an idle machine: nothing heavy is imported


def test_bash_completes_the_commands_and_their_options(clone: Clone) -> None:
    script = f"""
        export PATH={INV.parent}:$PATH
        source <(inv --print-completion-script bash)
        complete_words() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMPREPLY=()
            "$(complete -p inv | sed 's/.*-F \\([^ ]*\\).*/\\1/')" inv
            echo "${{COMPREPLY[@]}}"
        }}
        complete_words inv dep
        complete_words inv lab.
        complete_words inv deploy --
    """
    done = subprocess.run(["bash", "-c", script], cwd=clone.root, capture_output=True, text=True, check=True)

    commands, lab, options = done.stdout.splitlines()[-3:]
    assert "deploy" in commands.split()
    assert {"lab.up", "lab.status", "lab.down"} <= set(lab.split())
    assert {"--host", "--profile", "--set", "--restart"} <= set(options.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("deploy",), ("no profile given", "other, small")),
        (("deploy", "--profile", "small"), ("no host given", "gpu-1, gpu-2")),
        (("deploy", "--host", "gpu-1"), ("no profile given", "other, small")),
        (("show", "--host", "gpu-1", "--profile", "smal"), ("no profile 'smal'", "did you mean small?")),
        (("show", "--host", "gpu1", "--profile", "small"), ("no host 'gpu1'", "did you mean gpu-1?")),
        (("show", "--host", "lab", "--profile", "small"), ("no host 'lab'", "inv lab.up")),
        (("show", "--host", "gpu-1,gpu-2", "--profile", "small", "--set", "nnodes=1"), ("gpu-1, gpu-2", "--replicas")),
        (("status",), ("no deployment was made from here", "--host HOST")),
        (("logs",), ("no deployment was made from here",)),
        (("teardown",), ("no deployment was made from here",)),
        (("logs", "--host", "gpu-1", "--since", "yesterday"), ("--since yesterday: not a time", "10m")),
        (("logs", "--host", "gpu-1", "--rank", "GPU7"), ("GPU7",)),
        (("logs", "--host", "gpu-1", "--lines", "-1"), ("--lines -1",)),
        (("history", "--result", "faild"), ("--result faild", "did you mean failed?")),
        (("show", "--host", "gpu-1", "--profile", "small", "--sglang", "newest"), ("--sglang newest", "such as 0.5.9")),
    ],
)
def test_what_is_missing_or_wrong_is_one_line_and_2(
    clone: Clone, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    done = clone.inv(*arguments)

    assert (done.code, done.out) == (2, ""), done.said
    (line,) = done.err.splitlines()
    assert line.startswith("allranks: ")
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("port", "not an override"),
        ("port=eighty", "port"),
        ("port=99999", "port"),
        ("tp=0", "tp"),
        ("max_running_request=8", "flags.max_running_request"),
        ("flags.api_key=abc", "api_key"),
        ("flags.tp_size=4", "layout"),
        ("environment.A B=1", "A B"),
        ("layout.tpp=2", "did you mean tp"),
    ],
)
def test_a_wrong_override_names_itself(clone: Clone, override: str, words: str) -> None:
    done = clone.inv("show", "--host", "gpu-1", "--profile", "small", "--set", override)

    assert (done.code, done.out) == (2, ""), done.said
    assert all(line.startswith("allranks: ") for line in done.err.splitlines())
    assert words in done.err
    assert override.partition("=")[0] in done.err


def test_overrides_are_typed_as_in_the_file_and_may_be_repeated(clone: Clone) -> None:
    sets = ("--set", "port=31005", "--set", "flags.max_running_requests=8", "--set", "environment.A=1 2")

    plan = clone.ok("show", "--host", "gpu-1", "--profile", "small", *sets, "--json").json

    argv = plan["argv"]
    assert argv[argv.index("--port") + 1] == "31005"
    assert argv[argv.index("--max-running-requests") + 1] == "8"
    assert plan["environment"]["A"] == "1 2"


def test_show_as_json_is_one_object_with_what_a_script_needs(clone: Clone) -> None:
    plan = clone.ok("show", "--host", "gpu-1", "--profile", "small", "--json").json

    assert {"argv", "environment", "script", "ranks"} <= plan.keys()
    assert [rank["rank"] for rank in plan["ranks"]] == ["PP0 TP0", "PP0 TP1", "PP1 TP0", "PP1 TP1"]
    assert plan["script"].startswith("#!")


def test_a_broken_inventory_is_told_by_file_and_line(clone: Clone) -> None:
    (clone.root / "inventory/hosts.yml").write_text("hosts:\n  gpu-1:\n    adress: 10.0.0.1\n")

    done = clone.inv("show", "--host", "gpu-1", "--profile", "small")

    assert done.code == 2
    assert "inventory/hosts.yml:3" in done.err
    assert "did you mean address?" in done.err


def test_what_inv_itself_does_not_know_is_1_and_no_trace(clone: Clone) -> None:
    for arguments in (("deplyo",), ("deploy", "--hots", "gpu-1")):
        done = clone.inv(*arguments)

        assert done.code == 1
        assert "Traceback" not in done.said


def test_a_host_that_cannot_be_reached_is_4(clone: Clone) -> None:
    clone.hosts({"nowhere": {"address": "no-such-host.invalid", "models": "/srv"}})

    deploy = clone.inv("deploy", "--host", "nowhere", "--profile", "small")
    status = clone.inv("status", "--host", "nowhere", "--json")

    assert (deploy.code, deploy.out) == (4, "")
    assert "cannot be resolved" in deploy.err
    assert status.code == 4
    assert list(status.json["silent"]) == ["nowhere"]


def test_a_peer_that_hangs_up_is_told_in_one_line_without_the_libraries_own_words(clone: Clone) -> None:
    clone.hosts({"proxied": {"address": "192.0.2.1", "proxy_command": "false", "models": "/srv"}})

    done = clone.inv("deploy", "--host", "proxied", "--profile", "small")

    assert done.code == 4
    (line,) = [line for line in done.err.splitlines() if line != "checking proxied"]
    assert line == "allranks: proxied: its proxy_command ended with status 1 (false); try that command by hand"


def test_every_class_of_error_has_its_documented_code() -> None:
    page = (REPOSITORY / "docs/exit-codes.md").read_text()

    for code, name in re.findall(r"^\| (\d+) \| `(\w+)` \|", page, re.MULTILINE):
        assert getattr(errors, name).exit_code == int(code)


def test_debug_adds_the_trace_and_nothing_else_does(clone: Clone) -> None:
    plain = clone.inv("deploy")
    clone.environment["ALLRANKS_DEBUG"] = "1"

    debug = clone.inv("deploy")

    assert "Traceback" not in plain.said
    assert "Traceback" in debug.err
    assert debug.err.endswith(plain.err)


def on_a_terminal(clone: Clone, *arguments: str, **environment: str) -> str:
    """What a command writes to a terminal."""
    here, there = pty.openpty()
    plain = {"PATH": os.environ["PATH"], "HOME": str(clone.home), "TERM": "xterm-256color", **environment}
    with subprocess.Popen([INV, *arguments], cwd=clone.root, env=plain, stdin=there, stdout=there, stderr=there) as inv:
        os.close(there)
        said = b""
        while select.select([here], [], [], 30)[0]:
            try:
                said += os.read(here, 65536)
            except OSError:  # the other end is closed
                break
    os.close(here)
    assert inv.returncode == 0, said
    return said.decode()


def test_colours_are_for_terminals_only_and_no_color_is_obeyed(clone: Clone) -> None:
    show = ("show", "--host", "gpu-1", "--profile", "small")

    assert ESCAPE in on_a_terminal(clone, *show)
    assert ESCAPE not in on_a_terminal(clone, *show, NO_COLOR="1")
    assert ESCAPE not in clone.ok(*show).out


def test_a_pipe_that_is_closed_early_is_no_error(clone: Clone) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {INV} show --host gpu-1 --profile small --json | head -c 1"],
        cwd=clone.root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")


def test_the_lab_that_is_down_says_so(clone: Clone) -> None:
    told = clone.ok("lab.status").out
    listed = json.loads(clone.ok("lab.status", "--json").out)

    assert "lab.up" in told
    assert not listed or listed == {"hosts": []}


@pytest.mark.parametrize("arguments", [("show", "--host", "gpu-1", "--profile", "small"), ("history", "--json")])
def test_an_output_that_cannot_be_written_is_one_line_and_1(clone: Clone, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [INV, *arguments], cwd=clone.root, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert (done.returncode, done.stderr) == (1, "allranks: standard output: No space left on device\n")


def test_a_bug_is_one_line_and_1(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(c: Context) -> int:
        """Divide."""
        return 1 // 0

    with pytest.raises(SystemExit, match="1"):
        tasks.command()(broken)(Context())

    assert re.fullmatch(r"allranks: ZeroDivisionError: .*--debug shows where\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    "arguments",
    [("deploy", "--help"), ("show", "--host", "gpu-1", "--profile", "small"), ("history",), ("lab.status",)],
)
def test_nobody_who_reads_is_no_error(clone: Clone, arguments: tuple[str, ...]) -> None:
    here, there = os.pipe()
    os.close(here)

    done = subprocess.run(
        [INV, *arguments], cwd=clone.root, stdout=there, stderr=subprocess.PIPE, text=True, check=False
    )

    os.close(there)
    assert (done.returncode, done.stderr) == (0, "")
