"""What runs held against what was asked: arguments, variables, effective settings, the log's echo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roles.check.asked import as_asked
from roles.check.differences import asked_for
from roles.check.echo import MISSING, echoed
from roles.inventory import Host, Profile
from roles.onhost.proc import redact
from roles.plan import Plan, plan_for
from roles.watch import Board, Verdict, expect

LOGS = Path(__file__).resolve().parents[1] / "logs"
UP = Verdict("up", "up: 1 rank answered")


def plan(**fields: Any) -> Plan:
    return plan_for(Profile.model_validate({"name": "p", "model": "/m", **fields}), [Host(name="a")])


def board(made: Plan, *, argv: list[str] | None = None, environ: dict[str, str] | None = None, **told: Any) -> Board:
    """The board of a server that runs as planned, but for these."""
    blank = expect(made.ranks, layout=made.profile.layout, hosts=["a"])
    node = made.nodes[0]
    has = dict(node.environment) if environ is None else environ
    given = {"argv": list(node.argv) if argv is None else argv, "environ": has, "secrets": list(node.secrets)}
    settings = {**made.expected, **made.profile.flags, **told}
    nodes = {0: replace(blank.nodes[0], given=given)}
    return replace(blank, nodes=nodes, settings=settings, version="0.5.23")


def without(argv: tuple[str, ...], flag: str, value: str) -> list[str]:
    """The same words with another value of a flag."""
    words = list(argv)
    words[words.index(flag) + 1] = value
    return words


def test_what_runs_as_planned_is_up() -> None:
    made = plan(flags={"max_total_tokens": 4096}, environment={"NCCL_DEBUG": "INFO"}, secrets={"HF_TOKEN": "env:X"})

    assert as_asked(made, board(made), UP) == UP


def test_an_argument_that_is_another_is_named_once_with_what_the_server_reports() -> None:
    made = plan(flags={"max_total_tokens": 4096})
    argv = without(made.nodes[0].argv, "--max-total-tokens", "2048")

    verdict = as_asked(made, board(made, argv=argv, max_total_tokens=2048), UP)

    assert verdict.kind == "different"
    assert verdict.differences == ["max_total_tokens: asked '4096', the server reports 2048"]


def test_an_argument_that_the_server_does_not_report_is_named_all_the_same() -> None:
    made = plan(flags={"watchdog_timeout": 300})
    runs = board(made, argv=without(made.nodes[0].argv, "--watchdog-timeout", "30"))
    assert runs.settings
    silent = replace(runs, settings={key: value for key, value in runs.settings.items() if key != "watchdog_timeout"})

    verdict = as_asked(made, silent, UP)

    assert verdict.differences == ["--watchdog-timeout: planned '300', it was started with '30'"]


def test_a_variable_that_is_another_or_missing_is_named() -> None:
    made = plan(environment={"NCCL_DEBUG": "INFO", "A": "1"}, secrets={"HF_TOKEN": "env:X"})
    runs = board(made, environ={"A": "2"})
    assert runs.nodes[0].given
    bare = replace(runs, nodes={0: replace(runs.nodes[0], given={**runs.nodes[0].given, "secrets": []})})

    verdict = as_asked(made, bare, UP)

    assert verdict.differences == [
        "NCCL_DEBUG: planned 'INFO', it has None",
        "A: planned '1', it has '2'",
        "HF_TOKEN: planned '***', it has None",
    ]


def test_the_path_of_the_profile_stands_behind_that_of_the_virtual_environment() -> None:
    made = plan(environment={"PATH": "/opt/cuda/bin:/usr/bin"}, venv="/opt/my venv")

    assert as_asked(made, board(made, environ={"PATH": "/opt/my venv/bin:/opt/cuda/bin:/usr/bin"}), UP) == UP
    assert as_asked(made, board(made, environ={"PATH": "/usr/bin"}), UP).kind == "different"


def test_what_looks_like_a_secret_is_compared_as_far_as_it_is_told() -> None:
    made = plan(flags={"json_model_override_args": {"image_token": 5}})
    told = redact(list(made.nodes[0].argv))
    assert any("***" in word for word in told)

    assert as_asked(made, board(made, argv=told), UP) == UP
    assert as_asked(made, board(made, argv=[word.replace("image", "text") for word in told]), UP).kind == "different"


def test_what_sglang_changes_by_itself_is_up_and_said() -> None:
    made = plan(flags={"attention_backend": "fa3", "max_total_tokens": 4096})

    verdict = as_asked(made, board(made, attention_backend="triton", max_total_tokens=1000), UP)

    assert verdict.kind == "up"
    assert verdict.rewritten == [
        "attention_backend: asked 'fa3', the server reports 'triton' (SGLang decides it by itself where it sees fit)",
        "max_total_tokens: asked '4096', the server reports 1000 (memory holds no more)",
    ]


def test_a_change_that_nothing_explains_is_different_though_the_server_was_given_it() -> None:
    made = plan(flags={"context_length": 4096})

    verdict = as_asked(made, board(made, context_length=2048), UP)

    assert verdict.differences == ["context_length: asked '4096', the server reports 2048"]


@pytest.mark.parametrize("allowed", [["context_length", "A"], ["A", "context_length", "tp_size"]])
def test_the_profile_may_allow_a_field_to_differ(allowed: list[str]) -> None:
    made = plan(flags={"context_length": 4096}, environment={"A": "1"}, allow_different=allowed)
    argv = without(made.nodes[0].argv, "--context-length", "2048")

    assert as_asked(made, board(made, argv=argv, environ={"A": "2"}, context_length=2048), UP).kind == "up"


@pytest.mark.parametrize(
    ("flag", "asked", "reported"),
    [
        ("context_length", 4096.0, 4096),
        ("lora_paths", ["a", "b"], ["a", "b"]),
        ("json_model_override_args", {"rope": 1}, '{"rope":1}'),
        ("json_model_override_args", {"a": [1]}, {"a": [1]}),
        ("skip_server_warmup", True, True),
    ],
)
def test_the_same_value_in_another_spelling_is_the_same(flag: str, asked: Any, reported: Any) -> None:
    made = plan(flags={flag: asked})

    assert as_asked(made, board(made, **{flag: reported}), UP) == UP


@pytest.mark.parametrize(
    ("log", "name", "value"),
    [
        ("cpu-0.5.23-tp1-up", "max_total_tokens", 2048),
        ("cpu-0.5.23-tp1-up", "json_model_override_args", "{}"),
        ("gpu-0.5.17-tp1-up", "max_total_tokens", 65536),
        ("gpu-0.5.17-tp1-up", "quantization", None),
        ("cpu-0.5.9-tp1-up", "load_format", "dummy"),
        ("cpu-0.5.9-tp1-up", "no_such_thing", MISSING),
    ],
)
def test_the_echo_in_the_log_is_read_in_both_of_its_forms(log: str, name: str, value: Any) -> None:
    assert echoed((LOGS / f"{log}.log").read_text(), name) == value


def test_what_the_server_does_not_report_is_taken_from_the_echo() -> None:
    made = plan(flags={"some_new_flag": 7})
    runs = board(made)
    assert runs.settings
    silent = replace(runs, settings={key: value for key, value in runs.settings.items() if key != "some_new_flag"})

    assert as_asked(made, silent, UP, "server_args={'a': 1, 'some_new_flag': 7}\n").kind == "up"
    assert as_asked(made, silent, UP, "server_args={'a': 1, 'some_new_flag': 8}\n").kind == "different"


@pytest.mark.parametrize("word", ["--no-enable-tf32-matmul", "--no-enable-tf32"])
def test_a_flag_that_switches_off_asks_for_false(word: str) -> None:
    made = plan(extra_args=[word])

    assert as_asked(made, board(made, enable_tf32_matmul=False), UP) == UP
    assert asked_for([*made.nodes[0].argv, "--enable-tf32-matmul"], "0.5.23")["enable_tf32_matmul"] is True
    assert asked_for(made.nodes[0].argv, "0.5.23")["enable_tf32_matmul"] is False


def test_a_flag_that_only_begins_like_one_that_switches_off_asks_for_true() -> None:
    assert asked_for(["python", "--no-such-flag"], "0.5.23") == {"no_such_flag": True}


def test_a_flag_that_switches_off_is_told_once_and_may_be_allowed_by_its_setting() -> None:
    def runs(**more: Any) -> Verdict:
        made = plan(extra_args=["--no-enable-tf32-matmul"], **more)
        argv = [word for word in made.nodes[0].argv if word != "--no-enable-tf32-matmul"]
        return as_asked(made, board(made, argv=argv, enable_tf32_matmul=True), UP)

    assert runs().differences == ["enable_tf32_matmul: asked False, the server reports True"]
    assert runs(allow_different=["enable_tf32_matmul"]).kind == "up"
