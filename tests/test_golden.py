"""What `inv show` prints for the committed profiles, byte for byte, held against tests/golden/.

A change there is a change to every deployment: look at it, then write the files anew by

    python -m tests.test_golden
"""

from pathlib import Path

import pytest

from roles.inventory import Host, load
from roles.plan import Plan, plan_for
from roles.view.show import as_json, show

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests/golden"


def lab(number: int) -> Host:
    """A lab host as it would be, without the lab."""
    return Host(
        name=f"lab{number}",
        address=f"10.0.0.{number}",
        user="root",
        kind="vm",
        venv="/opt/allranks/venv",
        models="/opt/allranks/models",
        interface="eth0",
        lab=True,
    )


GPU_LXC = load(ROOT).hosts("gpu-lxc")
CASES = {
    "tp8": GPU_LXC,
    "tp4pp2": GPU_LXC,
    "tiny-tp1": (lab(1),),
    "tiny-tp2pp2": (lab(1),),
    "tiny-2node": (lab(1), lab(2)),
}


def files(name: str) -> dict[str, str]:
    """File name: content, of one case."""
    plan: Plan = plan_for(load(ROOT).profile(name), CASES[name])
    scripts = {
        f"{name}{f'.node{node.node}' if len(plan.nodes) > 1 else ''}.launch.sh": node.script for node in plan.nodes
    }
    return {f"{name}.txt": show(plan, color=False), f"{name}.json": as_json(plan), **scripts}


@pytest.mark.parametrize("name", CASES)
def test_show_prints_what_it_has_always_printed(name: str) -> None:
    for file, content in files(name).items():
        assert content == (GOLDEN / file).read_text(encoding="utf-8"), f"{file} differs; see the head of {__file__}"


def test_there_is_no_golden_file_without_a_case() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == {file for name in CASES for file in files(name)}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for case in CASES:
        for file, content in files(case).items():
            (GOLDEN / file).write_text(content, encoding="utf-8")
