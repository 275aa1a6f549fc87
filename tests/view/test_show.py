import json
import re
from typing import Any

import pytest

from roles.inventory import Host, Profile
from roles.plan import Plan, plan_for
from roles.view.show import as_json, show


def plan(nodes: int = 1, **fields: Any) -> Plan:
    layout = {"tp": 2, "pp": nodes, "nnodes": nodes}
    profile = Profile.model_validate({"name": "p", "model": "org/m", "layout": layout, **fields})
    return plan_for(profile, [Host(name=f"h{node}", gpus=2, numa={0: (0,), 1: (1,)}) for node in range(nodes)])


def cut_out(text: str) -> list[str]:
    """The scripts between the lines to cut at."""
    return re.findall(r"^--- 8< --- launch\.sh[^\n]*\n(.*?\n)--- >8 --- [^\n]*$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("nodes", [1, 2])
def test_the_scripts_can_be_cut_out_byte_for_byte(nodes: int) -> None:
    made = plan(nodes, environment={"A": "two\nlines\n", "B": "--- >8"})

    assert cut_out(show(made, color=False)) == [node.script for node in made.nodes]


def test_each_rank_is_shown_with_node_host_gpu_and_numa() -> None:
    rows = [line.split() for line in show(plan(2), color=False).splitlines() if re.match(r"PP\d TP\d", line)]

    assert rows == [
        ["PP0", "TP0", "0", "h0", "0", "0"],
        ["PP0", "TP1", "0", "h0", "1", "1"],
        ["PP1", "TP0", "1", "h1", "0", "0"],
        ["PP1", "TP1", "1", "h1", "1", "1"],
    ]


def test_what_is_not_known_is_a_dash() -> None:
    text = show(plan_for(Profile(name="p", model="m"), [Host(name="h")]), color=False)

    assert re.search(r"^TP0 +0 +h +- +-$", text, re.MULTILINE)


def test_secrets_are_masked_and_only_their_place_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "hunter2")
    made = plan(secrets={"HF_TOKEN": "env:MINE"})

    assert "HF_TOKEN=*** (env:MINE)" in show(made, color=False).splitlines()
    assert json.loads(as_json(made))["environment"] == {"HF_TOKEN": "***"}
    assert "hunter2" not in show(made) + as_json(made)


def test_a_reader_without_colour_gets_none() -> None:
    assert "\x1b" not in show(plan(), color=False)
    assert "\x1b" not in show(plan())  # pytest's stdout is no terminal
    assert "\x1b[1m" in show(plan(), color=True)


def test_the_words_are_those_of_the_plain_text_with_or_without_colour() -> None:
    assert re.sub(r"\x1b\[[0-9;]*m", "", show(plan(), color=True)) == show(plan(), color=False)


def test_the_table_fits_eighty_columns() -> None:
    table = show(plan(2), color=False).split("\n\n")[1]

    assert max(map(len, table.splitlines())) <= 80


def test_json_of_one_node_is_the_object_that_scripts_were_promised() -> None:
    made = plan(environment={"A": "é"})
    whole = json.loads(as_json(made))

    assert whole["argv"] == list(made.nodes[0].argv)
    assert whole["environment"] == {"A": "é"}
    assert whole["script"] == made.nodes[0].script
    assert whole["ranks"] == [
        {"rank": "TP0", "host": "h0", "node": 0, "gpu": 0, "numa": 0},
        {"rank": "TP1", "host": "h0", "node": 0, "gpu": 1, "numa": 1},
    ]
    assert "nodes" not in whole


def test_json_of_several_nodes_has_each_and_node_0_at_the_top() -> None:
    made = plan(2)
    whole = json.loads(as_json(made))

    assert [node["host"] for node in whole["nodes"]] == ["h0", "h1"]
    assert [node["argv"] for node in whole["nodes"]] == [list(node.argv) for node in made.nodes]
    assert whole["argv"] == whole["nodes"][0]["argv"] != whole["nodes"][1]["argv"]


@pytest.mark.parametrize(
    ("fields", "login"),
    [
        ({}, "h, metal"),
        ({"user": "u", "port": 2222, "address": "x", "kind": "lxc"}, "u@x:2222, lxc"),
        ({"jump": "j@b"}, "h through j@b, metal"),
        ({"proxy_command": "nc %h %p"}, "h through nc %h %p, metal"),
    ],
)
def test_how_a_host_is_reached_is_one_line(fields: dict[str, Any], login: str) -> None:
    made = plan_for(Profile(name="p", model="m"), [Host.model_validate({"name": "h", **fields})])

    assert f"reached   {login}" in show(made, color=False).splitlines()
