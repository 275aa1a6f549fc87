"""The launch script, run by a real bash. In place of the server stands a program that writes down what reached it."""

import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from roles.inventory import Host, Profile
from roles.inventory.owned import check_reaches, check_variable
from roles.plan import NodePlan, plan_for
from roles.plan.script import _template

STAND_IN = """\
#!{python}
import json, os, signal, sys, time
names = ("SIGINT", "SIGQUIT", "SIGTERM")
reached = {{
    "argv": sys.argv[1:],
    "environment": dict(os.environ),
    "cwd": os.getcwd(),
    "deaf": [name for name in names if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN],
}}
with open("reached.json", "w") as file:
    json.dump(reached, file)
{ending}
"""


class Run:
    """A run directory with a script, as a host has it, beside a virtual environment with the stand-in."""

    def __init__(self, folder: Path, ending: str = "", **fields: Any) -> None:
        self.venv = folder / "a venv"
        self.folder = folder / "run dir"
        self.folder.mkdir()
        (self.venv / "bin").mkdir(parents=True)
        python = self.venv / "bin/python"
        python.write_text(STAND_IN.format(python=sys.executable, ending=ending))
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        profile = Profile.model_validate({"name": "p", "model": "m", "venv": str(self.venv), **fields})
        self.node: NodePlan = plan_for(profile, [Host(name="a")]).nodes[0]
        (self.folder / "launch.sh").write_bytes(self.node.script.encode())

    def keep_secrets(self, secrets: dict[str, str]) -> None:
        lines = [f"{name}={shlex.quote(value)}\n" for name, value in secrets.items()]
        (self.folder / "secrets.env").write_bytes("".join(lines).encode())

    def start(self, cwd: str = "/", script: str | None = None) -> "subprocess.Popen[str]":
        words = ["bash", script or str(self.folder / "launch.sh")]
        return subprocess.Popen(words, cwd=cwd, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def run(self, **how: Any) -> tuple[int, str]:
        with self.start(**how) as bash:
            _, errors = bash.communicate(timeout=30)
        return bash.returncode, errors

    @property
    def exit(self) -> str:
        return (self.folder / "exit").read_text()

    @property
    def reached(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "reached.json").read_text()))


@contextmanager
def a_folder() -> Iterator[Path]:
    """Hypothesis runs one test function many times, so that tmp_path would be one folder for all."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40) | st.sampled_from(
    ["", " ", "a b", "'", '"', "$HOME", "${x}", "$(id)", "`id`", "\\", "\\n", "\n", "a\nb\n", "\t", "{}", "{{ x }}",
     "{% x %}", "!", "!!", "~", "*", "?", "[a]", "-x", "-", "#", ";", "&", "|", "<", ">", "é", "🜲", "\r", "\x1b[1m",
     '{"a": ["b c", null]}', "%s", "a=b", "=", "'\"'\"'", "$'\\n'"]
)  # fmt: skip
own_names = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,12}", fullmatch=True)


def reaches(name: str) -> bool:
    """Whether a test can set it: not bash's own, nor one that decides whether bash or Python start at all."""
    try:
        check_reaches(name)
    except ValueError:
        return False
    return name not in {"PATH", "VIRTUAL_ENV", "PYTHONHOME"} and not name.startswith(("LD_", "PYTHON", "LC_", "LANG"))


def looks_like_a_secret(name: str) -> bool:
    try:
        check_variable(name)
    except ValueError:
        return True
    return False


@settings(max_examples=25, deadline=None)
@example(words=["-x", "", "$HOME", "a\nb"], environment={"IFS": "abc", "HOME": "~"}, secrets={"S": "'\n$x"})
@given(
    words=st.lists(anything, max_size=12),
    environment=st.dictionaries(own_names, anything, max_size=8),
    secrets=st.dictionaries(own_names, anything, max_size=4),
)
def test_any_value_reaches_the_server_as_it_is(
    words: Sequence[str], environment: dict[str, str], secrets: dict[str, str]
) -> None:
    assume(all(map(reaches, [*environment, *secrets])) and not environment.keys() & secrets.keys())
    assume(not any(map(looks_like_a_secret, environment)))
    words = [word for word in words if not word.startswith("--")]
    with a_folder() as folder:
        references = {name: f"env:{name}" for name in secrets}
        run = Run(folder, extra_args=["--words", *words], environment=environment, secrets=references)
        run.keep_secrets(secrets)

        assert run.run() == (0, "")
        assert run.reached["argv"] == list(run.node.argv[1:])
        assert run.reached["argv"][-len(words) - 1 :] == ["--words", *words]
        assert {name: run.reached["environment"][name] for name in [*environment, *secrets]} == environment | secrets
        assert run.exit == "0\n"


@given(value=anything)
@settings(max_examples=10, deadline=None)
def test_any_value_of_a_flag_reaches_the_server_as_one_word(value: str) -> None:
    with a_folder() as folder:
        run = Run(folder, flags={"a_b": value, "json_c": {"k": [value]}})
        run.run()
        words = run.reached["argv"]
        json_text = words[words.index("--json-c") + 1]

        assert json.loads(json_text) == {"k": [value]}
        assert words[words.index("--port") + 2 : words.index("--json-c")] in (["--a-b", value], [f"--a-b={value}"])


def test_the_server_runs_in_the_run_directory_with_its_virtual_environment_first(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.run()
    environment = run.reached["environment"]

    assert run.reached["cwd"] == str(run.folder)
    assert environment["VIRTUAL_ENV"] == str(run.venv)
    assert environment["PATH"] == f"{run.venv}/bin:{os.environ['PATH']}"


def test_the_profile_may_set_the_path_and_the_virtual_environment_stays_first(tmp_path: Path) -> None:
    run = Run(tmp_path, environment={"PATH": "/opt/cuda/bin:/usr/bin:/bin"})
    run.run()

    assert run.reached["environment"]["PATH"] == f"{run.venv}/bin:/opt/cuda/bin:/usr/bin:/bin"


def test_the_limits_of_the_profile_are_those_of_the_server(tmp_path: Path) -> None:
    ending = "import resource; json.dump(resource.getrlimit(resource.RLIMIT_CORE), open('core', 'w'))"
    run = Run(tmp_path, ending=ending, limits={"core": 8, "nofile": 2**40})

    code, errors = run.run()

    assert (code, json.loads((run.folder / "core").read_text())[0]) == (0, 8 * 1024)
    assert errors.startswith("allranks: ulimit -n 1099511627776 was refused, it is ")


def test_the_script_can_be_started_by_a_relative_name(tmp_path: Path) -> None:
    run = Run(tmp_path)

    assert run.run(cwd=str(run.folder), script="launch.sh") == (0, "")
    assert run.run(cwd=str(tmp_path), script="run dir/launch.sh") == (0, "")
    assert run.exit == "0\n"


def test_it_runs_in_its_own_folder_wherever_cd_would_go_and_needs_no_other_program(tmp_path: Path) -> None:
    run = Run(tmp_path)
    (tmp_path / "elsewhere/run dir").mkdir(parents=True)
    (tmp_path / "link").symlink_to(run.folder)
    for script in ("run dir/launch.sh", "link/launch.sh", "run dir/../run dir/launch.sh"):
        done = subprocess.run(
            ["/usr/bin/env", "-i", "PATH=/nowhere", f"CDPATH={tmp_path / 'elsewhere'}", "/bin/bash", script],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr, run.exit) == (0, "", "", "0\n")
        assert run.reached["cwd"] == run.reached["environment"]["PWD"] == str(run.folder.resolve())
        (run.folder / "exit").unlink()


@pytest.mark.parametrize("code", [0, 1, 3, 77, 255])
def test_the_exit_code_is_written_down_and_passed_on(tmp_path: Path, code: int) -> None:
    run = Run(tmp_path, ending=f"sys.exit({code})")

    assert run.run()[0] == code
    assert run.exit == f"{code}\n"
    assert sorted(file.name for file in run.folder.iterdir()) == ["exit", "launch.sh", "reached.json"]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGQUIT"])
def test_death_by_a_signal_is_128_and_its_number(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    run = Run(tmp_path, ending=f"os.kill(os.getpid(), {int(number)}); time.sleep(60)")

    assert run.run()[0] == 128 + number
    assert run.exit == f"{128 + number}\n"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_to_the_whole_group_still_leaves_the_code_the_server_chose(tmp_path: Path, name: str) -> None:
    ending = (
        f"signal.signal(signal.{name}, lambda *_: (time.sleep(0.2), sys.exit(7)))\n"
        "open('ready', 'w').close()\ntime.sleep(60)"
    )
    run = Run(tmp_path, ending=ending)
    with run.start() as bash:
        until((run.folder / "ready").exists)
        os.killpg(bash.pid, getattr(signal, name))
        bash.communicate(timeout=30)

    assert run.exit == "7\n"


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_server_hears_the_signals_it_ends_by(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.run()

    assert run.reached["deaf"] == []


def test_a_missing_virtual_environment_is_one_line_and_127_and_no_other_python_runs(tmp_path: Path) -> None:
    run = Run(tmp_path)
    shutil.rmtree(run.venv)
    code, errors = run.run()

    assert (code, run.exit) == (127, "127\n")
    assert errors == f"allranks: a: no Python at {run.venv}/bin/python; make the virtual environment or correct venv\n"
    assert not (run.folder / "reached.json").exists()


def test_missing_secrets_are_one_line_and_nothing_runs(tmp_path: Path) -> None:
    run = Run(tmp_path, secrets={"S": "env:S"})

    assert run.run() == (1, "allranks: secrets.env is not beside launch.sh; deploy again\n")
    assert run.exit == "1\n"


def test_secrets_are_never_in_the_script_only_that_there_are_some(tmp_path: Path) -> None:
    run = Run(tmp_path, secrets={"HF_TOKEN": "env:MY_OWN_TOKEN"})

    assert "HF_TOKEN" not in run.node.script and "MY_OWN_TOKEN" not in run.node.script


def test_without_a_virtual_environment_the_hosts_python_runs() -> None:
    node = plan_for(Profile(name="p", model="m"), [Host(name="a", python="/usr/bin/python3.11")]).nodes[0]

    assert "\n    /usr/bin/python3.11\n    -m sglang.launch_server\n" in node.script
    assert "VIRTUAL_ENV" not in node.script


def test_a_template_that_lacks_a_value_is_an_error_and_not_an_empty_line() -> None:
    with pytest.raises(UndefinedError):
        _template().render(title="t")


@pytest.mark.parametrize("fields", [{}, {"secrets": {"S": "env:S"}, "environment": {"A": "$(x) `y` 'z'"}}])
def test_shellcheck_has_nothing_to_say(tmp_path: Path, fields: dict[str, Any]) -> None:
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("shellcheck is not installed (apt-get install shellcheck)")
    run = Run(tmp_path, extra_args=["--x", "it's", "$y"], **fields)
    words = [
        shellcheck,
        "--norc",
        "--enable=all",
        "--exclude=SC2250",
        str(run.folder / "launch.sh"),
    ]  # SC2250: ${braces}
    found = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (found.returncode, found.stdout) == (0, "")
