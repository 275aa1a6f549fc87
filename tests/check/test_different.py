"""A server that runs otherwise than planned is called different, with the fields: never up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from roles.inventory import load
from roles.inventory.errors import InputError
from roles.lab.host import LabHost
from roles.ledger import Ledger
from roles.plan import Plan, plan_for
from roles.server.deploy import Options, deploy
from roles.view.board import PlainLines
from roles.watch import Verdict
from tests.hosts import labs
from tests.hosts.clone import Clone
from tests.hosts.labs import disk
from tests.hosts.reach import shell

OPT = Path(__file__).resolve().parents[2] / ".lab/opt"
# What is planned otherwise than it will run -> what the verdict names.
OTHERWISE = [
    ("tp=2", "tp_size: asked 2, the server reports 1"),
    ("served_model_name=other", "served_model_name: asked 'other', the server reports 'tiny'"),
    ("port={other}", "port: asked {other}, the server reports {port}"),
    ("environment.NCCL_DEBUG=WARN", "NCCL_DEBUG: planned 'WARN', it has None"),
]
NOT_REPORTED = ("flags.watchdog_timeout=77", "--watchdog-timeout: planned '77', it was started with None")
REPORTED = ("flags.max_total_tokens=4096", "max_total_tokens: asked '4096', the server reports 2048")


def deployed(clone: Clone, planned: str) -> Verdict:
    """The verdict on a plan whose launch script was exchanged for that of the profile as it is."""
    inventory = load(clone.root)
    hosts = inventory.hosts("lab1")
    runs = plan_for(inventory.profile("small", ()), hosts)
    wanted = plan_for(inventory.profile("small", (planned,)), hosts, name=runs.name)
    return _deployed(_exchanged(wanted, runs), clone.root)


def _exchanged(wanted: Plan, runs: Plan) -> Plan:
    return replace(wanted, nodes=(replace(wanted.nodes[0], script=runs.nodes[0].script),))


def _deployed(plan: Plan, root: Path) -> Verdict:
    verdict = deploy(plan, PlainLines(), Ledger(root), Options(restart=True)).verdict
    assert verdict is not None
    return verdict


@pytest.mark.hosts
@pytest.mark.parametrize(("planned", "named"), [*OTHERWISE, NOT_REPORTED])
def test_what_runs_otherwise_is_named_field_by_field(clone: Clone, port: int, planned: str, named: str) -> None:
    clone.profile("small", port, layout={"tp": 1})

    verdict = deployed(clone, planned.format(other=port + 200))

    assert verdict.kind == "different", verdict.sentence
    assert named.format(other=port + 200, port=port) in verdict.sentence


def other_model(host: LabHost) -> str:
    """A second model on the host, by the path that the host sees it at."""
    home = str(disk(host)) if host.record.kind == "loopback" else "/root"
    shell(host, f"cp -r {host.opt}/models/tiny-llama {home}/other")
    return f"{home}/other"


@pytest.mark.hosts
def test_another_model_is_named(clone: Clone, host: LabHost, port: int) -> None:
    other = other_model(host)
    clone.profile("small", port, layout={"tp": 1})

    verdict = deployed(clone, f"model={other}")

    assert verdict.kind == "different", verdict.sentence
    assert f"model_path: asked '{other}', the server reports '{host.opt}/models/tiny-llama'" in verdict.sentence


@pytest.fixture(scope="module")
def real() -> Iterator[list[LabHost]]:
    """A host with the real SGLang."""
    if not (OPT / "stamp").exists():
        pytest.skip("inv lab.up --sglang installs SGLang")
    try:
        with labs.made("different", 1, opt=OPT) as hosts:
            yield hosts
    except InputError as error:
        pytest.skip(str(error))


def tiny(folder: Path, real: list[LabHost], port: int) -> Clone:
    """A clone with a profile of one rank for the real SGLang."""
    environment = {"SGLANG_USE_CPU_ENGINE": "1", "HF_HUB_OFFLINE": "1", "TORCHDYNAMO_DISABLE": "1"}
    flags = {"device": "cpu", "load_format": "dummy", "max_total_tokens": 2048, "mem_fraction_static": 0.1}
    clone = Clone(folder / "clone").make().hosts(real)
    return clone.profile("small", port, layout={"tp": 1}, flags=flags, environment=environment)


@pytest.mark.sglang
@pytest.mark.slow
def test_another_model_of_the_real_sglang_is_named(real: list[LabHost], tmp_path: Path, port: int) -> None:
    other = other_model(real[0])

    verdict = deployed(tiny(tmp_path, real, port), f"model={other}")

    assert verdict.kind == "different", verdict.sentence
    assert f"model_path: asked '{other}', the server reports '{real[0].opt}/models/tiny-llama'" in verdict.sentence


@pytest.mark.sglang
@pytest.mark.slow
@pytest.mark.parametrize(("planned", "named"), [*OTHERWISE, REPORTED])
def test_the_real_sglang_is_called_different_too(
    real: list[LabHost], tmp_path: Path, port: int, planned: str, named: str
) -> None:
    clone = tiny(tmp_path, real, port)

    verdict = deployed(clone, planned.format(other=port + 200))

    assert verdict.kind == "different", verdict.sentence
    assert named.format(other=port + 200, port=port) in verdict.sentence
