"""The flags of a command line, held against SGLang releases without a host."""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roles.inventory import load
from roles.plan import Plan, plan_for
from roles.plan.flags import check, check_plan, known_releases, options_of
from roles.plan.flags.words import Use, read

ROOT = Path(__file__).resolve().parents[2]


def reference_plan(*overrides: str) -> Plan:
    """The profile tp4pp2 on the host it was written for."""
    inventory = load(ROOT)
    return plan_for(inventory.profile("tp4pp2", overrides), inventory.hosts("gpu-lxc"))


def refusals(argv: list[str], version: str) -> list[str]:
    return [str(issue) for issue in check(argv, version) if issue.level == "refusal"]


def test_the_reference_profile_passes_for_the_release_it_was_written_for() -> None:
    assert check_plan(reference_plan(), "0.5.9") == []


def test_each_removed_flag_of_the_reference_profile_is_named_with_its_replacement() -> None:
    found = {issue.flag: issue for issue in check_plan(reference_plan(), "0.5.23") if issue.level == "refusal"}

    assert set(found) == {"--nsa-decode-backend", "--nsa-prefill-backend"}
    assert found["--nsa-decode-backend"].found == "--nsa-decode-backend was removed in 0.5.20: --dsa-decode-backend"
    assert found["--nsa-decode-backend"].do == "write flags.dsa_decode_backend"


def test_a_deprecated_flag_is_a_warning_that_names_what_takes_its_place() -> None:
    (warning,) = [issue for issue in check_plan(reference_plan(), "0.5.23") if issue.level == "warning"]

    assert warning.flag == "--disable-cuda-graph"
    assert "--cuda-graph-backend-{decode,prefill}=disabled takes its place" in warning.do


@pytest.mark.parametrize(
    ("argv", "version", "part"),
    [
        (["--pp", "2"], "0.5.23", "--pp is ambiguous in 0.5.23: it could mean --pp-async-batch-depth"),
        (["--pp", "2"], "0.5.9", "--pp is ambiguous in 0.5.9: it could mean --pp-async-batch-depth, --pp-max"),
        (["--context", "5"], "0.5.21", "could mean --context-bucket, --context-length"),
        (["--cuda-graph-max-bs", "8"], "0.5.23", "--cuda-graph-max-bs-decode (now ambiguous"),
        (["--dsa-decode-backend", "trtllm"], "0.5.9", "before that it is --nsa-decode-backend"),
        (["--max-runing-requests", "4"], "0.5.9", "did you mean --max-running-requests?"),
        (["--reasoning_parser", "glm45"], "0.5.9", "spells its flags with hyphens"),
        (["--attention-backend", "flashinfr"], "0.5.9", "did you mean flashinfer? it takes triton"),
        (["--chunked-prefill-size", "many"], "0.5.9", "--chunked-prefill-size many: expected a whole number"),
        (["--mem-fraction-static", "much"], "0.5.9", "expected a number"),
        (["--disable-radix-cache=true"], "0.5.9", "takes no value, found 'true'"),
        (["--chunked-prefill-size", "--enable-metrics"], "0.5.9", "--chunked-prefill-size needs a value"),
        (["stray"], "0.5.9", "'stray' belongs to no flag"),
        (["--enable-ep-moe"], "0.5.9", "was removed in 0.5.5: --ep-size with --moe-runner-backend"),
    ],
)
def test_a_flag_that_would_end_the_server_is_refused_with_the_reason(argv: list[str], version: str, part: str) -> None:
    (found,) = refusals(argv, version)

    assert part in found


@pytest.mark.parametrize(
    ("argv", "version"),
    [
        (["--pp", "2"], "0.5.2"),  # then the only flag that began so
        (["--ep", "2"], "0.5.9"),  # a spelling of its own, though others begin like it
        (["--chunked-prefill-size", "-1"], "0.5.9"),  # a number is a value
        (["--cuda-graph-bs", "1", "2", "4"], "0.5.9"),
        (["--json-model-override-args", '{"a": 1}'], "0.5.9"),
        (["--mem-fraction-static=0.9"], "0.5.9"),
    ],
)
def test_what_the_parser_takes_is_not_refused(argv: list[str], version: str) -> None:
    assert refusals(argv, version) == []


def test_between_two_releases_only_what_both_refuse_is_refused() -> None:
    assert "0.5.11" not in known_releases()

    assert refusals(["--pp", "2"], "0.5.11")
    assert refusals(["--enable-double-sparsity"], "0.5.11") == []  # gone in 0.5.12.post1
    assert any("as in 0.5.12.post1" in str(issue) for issue in check(["--enable-double-sparsity"], "0.5.11"))


def test_a_release_beyond_the_table_is_only_warned_about_and_told_how_to_add() -> None:
    found = check(["--nsa-decode-backend", "trtllm"], "9.9.9")

    assert {issue.level for issue in found} == {"warning"}
    assert "scripts/flags.py 9.9.9" in str(found[-1])


def test_every_release_has_the_flags_a_plan_is_made_of() -> None:
    own = {"--model-path", "--tp-size", "--pp-size", "--dp-size", "--nnodes", "--node-rank", "--dist-init-addr"}
    for release in known_releases():
        assert own <= set(options_of(release)), release


WORDS = st.sampled_from(
    ["--tp", "--pp", "--pp-size", "--port=1", "--trust", "-1", "x", "--", "-", "--no such", "-x", ""]
)


@settings(deadline=None, max_examples=60)
@given(st.lists(WORDS | st.text(max_size=8), max_size=6))
def test_any_words_are_read_without_an_error(argv: list[str]) -> None:
    for version in ("0.4.9", "0.5.23", "0.5.6", "x", ""):
        check(argv, version)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["--tp-size", "--tp", "--pp", "--pp-size", "--pp-max", "--flag", "--fl", "3", "--fo"])))
def test_words_are_read_as_argparse_reads_them(argv: list[str]) -> None:
    options = {flag: options_of("0.5.9")[flag] for flag in ("--tp-size", "--pp-size", "--pp-max-micro-batch-size")}
    flag = options_of("0.5.9")["--enable-metrics"]
    options["--flag"] = flag

    class WrongError(Exception):
        pass

    class Parser(argparse.ArgumentParser):
        def error(self, message: str):  # type: ignore[no-untyped-def]
            raise WrongError(message)

    parser = Parser()
    for name in options:
        if name == "--flag":
            parser.add_argument(name, action="store_true")
        else:
            parser.add_argument(name)
    try:
        parser.parse_args(argv)
        wrong = False
    except WrongError:
        wrong = True
    uses = list(read(argv, options))
    ours = any(
        isinstance(use, str) or use.option is None or (use.option.takes == "one" and not use.values) for use in uses
    )

    assert ours == wrong
    assert all(isinstance(use, Use) for use in uses) or wrong


@pytest.mark.parametrize(
    ("words", "version", "refused"),
    [
        (["--pp-size", "2", "--speculative-algorithm", "EAGLE"], "0.5.9", True),
        (["--pp-size", "2", "--speculative-algorithm", "EAGLE"], "0.5.16", True),
        (["--pp-size", "2", "--speculative-algorithm", "EAGLE"], "0.5.23", False),
        (["--pp-size", "1", "--speculative-algorithm", "EAGLE"], "0.5.9", False),
        (["--pp-size", "2", "--enable-mixed-chunk"], "0.5.9", True),
        (["--pp-size", "2", "--enable-mixed-chunk"], "0.5.12", False),
        (["--pipeline-parallel-size", "2", "--enable-mixed-chunk"], "0.5.9", True),
        (["--attention-backend", "flex_attention", "--speculative-algorithm", "EAGLE"], "0.5.23", True),
        (["--enable-hisparse", "--enable-mixed-chunk"], "0.5.23", True),
    ],
)
def test_flags_that_exclude_each_other_in_a_release_are_refused(words: list[str], version: str, refused: bool) -> None:
    found = [issue for issue in check(["--model-path", "m", *words], version) if issue.level == "refusal"]

    assert [("exclude each other in" in issue.found) for issue in found] == ([True] if refused else [])


def test_the_generator_writes_the_table_as_it_is() -> None:
    place = Path(__file__).resolve().parents[2] / "scripts/flags.py"
    spec = importlib.util.spec_from_file_location("flags_generator", place)
    assert spec and spec.loader
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)

    text = generator.TABLE.read_text()
    assert generator.written(generator.expanded(json.loads(text))) == text
