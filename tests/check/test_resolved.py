"""What SGLang changes by itself is no difference: the table, and the generator that reads it out of the sources."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roles.check.asked import as_asked
from roles.check.resolved import NEVER, OWN_DECISION, TABLE
from roles.plan.flags import options_of
from tests.check.test_asked import UP, board, plan

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".lab/opt/venv/lib/python3.11/site-packages/sglang"


@pytest.fixture(name="names")
def reader() -> Callable[[Path], set[str]]:
    """The generator's own reading of a package."""
    spec = importlib.util.spec_from_file_location("resolved", ROOT / "scripts/resolved.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[Path], set[str]] = module.names
    return found


@pytest.mark.sglang
@pytest.mark.skipif(not INSTALLED.exists(), reason="inv lab.up --sglang installs SGLang")
def test_the_table_is_what_the_installed_sglang_says(names: Callable[[Path], set[str]]) -> None:
    (info,) = INSTALLED.parent.glob("sglang-*.dist-info")
    release = info.name.removeprefix("sglang-").removesuffix(".dist-info")

    assert sorted(names(INSTALLED)) == json.loads(TABLE.read_text())[release]


def test_each_form_of_changing_a_setting_is_read(names: Callable[[Path], set[str]], tmp_path: Path) -> None:
    (tmp_path / "srt").mkdir()
    (tmp_path / "srt/hook.py").write_text(
        "class Fields:\n"
        "    page_size: A[int, Arg(help='', resolvable=True)] = 1\n"
        "    left: A[int, Arg(help='', resolvable=False)] = 1\n"
        "def handle(server_args):\n"
        "    declare_resolution(server_args, 'x', tool_call_parser='qwen', _seed=1)\n"
        "    fields = {'first': 1}\n"
        "    fields['second'] = 2\n"
        "    other = {'not_this': 1}\n"
        "    declare_resolution(server_args, 'x', **fields)\n"
        "    print(server_args.not_that)\n"
        "class ServerArgs:\n"
        "    def check(self):\n"
        "        self.old_style = other\n"
        "def late(server_args):\n"
        "    server_args.older = 1\n"
    )

    assert names(tmp_path) == {"page_size", "tool_call_parser", "first", "second", "old_style", "older"}


@pytest.mark.parametrize(
    ("flag", "asked", "reported"),
    [
        ("tool_call_parser", "qwen25", "qwen"),
        ("tool_call_parser", "glm45", "glm"),
        ("mamba_ssm_dtype", "float32", "bfloat16"),
        ("enable_hierarchical_cache", True, False),
        ("skip_server_warmup", True, False),
        ("speculative_draft_window_size", 4096, 2048),
        ("hicache_host_memory_fraction", 0.5, None),
    ],
)
def test_a_setting_that_sglang_resolves_is_up_and_said(flag: str, asked: Any, reported: Any) -> None:
    made = plan(flags={flag: asked})

    verdict = as_asked(made, board(made, **{flag: reported}), UP)

    assert (verdict.kind, len(verdict.rewritten)) == ("up", 1), verdict.sentence
    assert verdict.rewritten[0].startswith(f"{flag}: asked ")


@pytest.mark.parametrize("name", sorted(NEVER))
def test_what_says_which_model_where_and_how_long_is_never_its_own_decision(name: str) -> None:
    assert name not in OWN_DECISION
    assert name in {option.dest for option in options_of("0.5.23").values()} | {"tp_size", "pp_size"}
