"""Whatever stands in the inventory and in a profile: a plan, or an error of ours in words. Never a traceback, never a
connection."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from roles.check import findings, question
from roles.check.fixes import fixes
from roles.inventory import load
from roles.inventory.errors import AllranksError
from roles.plan import plan_for
from roles.plan.groups import groups
from roles.view.show import as_json, show

TEXT = st.sampled_from(
    ["", "x", "/m", "host:m", "-1", "--pp", "0.5.9", "lab", "a b", "$(id)", "é", "\n", "env:X", "~/w"]
)
SCALAR = TEXT | st.integers(-2, 9) | st.booleans() | st.none() | st.floats() | st.text(max_size=6)
ANY = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)
FLAGS = st.sampled_from(
    ["tp_size", "enable_dp_attention", "attention_backend", "nsa_decode_backend", "cuda_graph_bs", "x"]
)
SIZES = st.fixed_dictionaries(
    {}, optional={axis: st.integers(0, 9) | ANY for axis in ("tp", "pp", "dp", "ep", "nnodes")}
)
PROFILE = st.fixed_dictionaries(
    {"model": st.just("/m") | ANY},
    optional={
        "layout": SIZES | ANY,
        "port": st.integers(-1, 70000) | ANY,
        "flags": st.dictionaries(FLAGS, ANY, max_size=3) | ANY,
        "extra_args": st.lists(TEXT, max_size=4) | ANY,
        "environment": st.dictionaries(TEXT, SCALAR, max_size=2) | ANY,
        "gpus": st.lists(st.integers(-1, 9), max_size=4) | ANY,
        "sglang": st.sampled_from(["0.5.9", "0.5.23", "0.5.99", "0.1", "main"]) | ANY,
        "log": ANY,
        "limits": st.dictionaries(st.sampled_from(["nofile", "as", "x"]), st.integers(-1, 9) | ANY, max_size=2) | ANY,
        "allow_different": st.lists(TEXT, max_size=2) | ANY,
        "timeouts": ANY,
        "unknown": ANY,
    },
)
HOST = st.fixed_dictionaries(
    {},
    optional={"address": ANY, "user": ANY, "port": ANY, "gpus": st.integers(0, 9) | ANY, "numa": ANY, "jump": ANY,
              "workdir": ANY, "venv": ANY, "interface": ANY, "python": ANY, "groups": ANY},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def connected(*_: object) -> None:
        raise AssertionError("something was connected to")

    monkeypatch.setattr(socket.socket, "connect", connected)
    monkeypatch.setattr(socket, "getaddrinfo", connected)


# Nearly right ones, so that plans come of them.
NEARLY = st.fixed_dictionaries(
    {"model": st.just("/m")},
    optional={
        "layout": st.fixed_dictionaries(
            {}, optional={axis: st.integers(1, 4) for axis in ("tp", "pp", "dp", "nnodes")}
        ),
        "flags": st.dictionaries(FLAGS.filter(lambda flag: flag != "tp_size"), SCALAR, max_size=2),
        "extra_args": st.lists(st.sampled_from(["--context", "5", "--disable-radix-cache", "--x=1"]), max_size=3),
        "environment": st.dictionaries(st.sampled_from(["A", "NCCL_DEBUG"]), st.text(max_size=5), max_size=2),
        "limits": st.dictionaries(st.sampled_from(["nofile", "as"]), st.sampled_from([1, "unlimited"]), max_size=2),
        "allow_different": st.lists(st.sampled_from(["tp_size", "A"]), max_size=2),
        "sglang": st.sampled_from(["0.5.9", "0.5.23", "0.5.99", "0.1"]),
    },
)
PLAIN = st.fixed_dictionaries({"a": st.sampled_from([{}, {"gpus": 8}]), "b": st.just({})})


def tried(profile: dict[str, Any], hosts: dict[str, Any], named: str) -> bool:
    """Read and plan; whether a plan came of it."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "inventory/profiles").mkdir(parents=True)
        (Path(folder) / "inventory/hosts.yml").write_text(json.dumps({"hosts": hosts}))
        (Path(folder) / "inventory/profiles/p.yml").write_text(json.dumps(profile))
        try:
            inventory = load(Path(folder))
            made = plan_for(inventory.profile("p", ()), inventory.hosts(named))
        except AllranksError as error:
            assert str(error).strip() and "Traceback" not in str(error)
            return False
    assert show(made, color=False) and as_json(made)
    assert all(list(groups(made, node)) is not None for node in made.nodes)
    return all(json.dumps(question(made, node)) for node in made.nodes)


QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
@given(PROFILE, st.dictionaries(st.sampled_from(["a", "-x"]), HOST | ANY, max_size=2), st.sampled_from(["a", "", "z"]))
def test_an_inventory_and_a_profile_of_any_kind_give_a_plan_or_an_error_in_words(
    profile: dict[str, Any], hosts: dict[str, Any], named: str
) -> None:
    tried(profile, hosts, named)


@settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
@given(NEARLY, PLAIN, st.sampled_from(["a", "a,b"]))
def test_nearly_right_ones_give_a_plan_or_an_error_in_words(
    profile: dict[str, Any], hosts: dict[str, Any], named: str
) -> None:
    event("planned" if tried(profile, hosts, named) else "refused")


@settings(max_examples=60, deadline=None, suppress_health_check=QUIET)
@given(
    st.dictionaries(
        st.sampled_from(["software", "flags", "model", "nics", "cards", "kernel", "places"]),
        st.just({}) | st.none(),
        max_size=7,
    )
)
def test_a_host_that_tells_only_some_of_it_is_judged_all_the_same(parts: dict[str, Any]) -> None:
    inventory = load(Path(__file__).resolve().parents[2])
    made = plan_for(inventory.profile("tp4pp2", ()), inventory.hosts("gpu-lxc"))
    facts = {"t": 0.0, "ports": {}, "venv": None, "look": parts}

    assert findings(made, [facts], now=0.0)
    assert fixes(made, [facts], 0.0) == []
