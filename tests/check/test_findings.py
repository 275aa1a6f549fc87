"""Facts + plan -> findings, for what no lab host has: GPUs, NUMA nodes, drivers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from roles.check import Finding, findings
from roles.check.abilities import unable
from roles.check.drawing import draw
from roles.inventory import load
from roles.plan import Plan, plan_for
from roles.plan.links import links_of

ROOT = Path(__file__).resolve().parents[2]
TOPO = "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\nGPU0\t X \tNV18\t0-31\t0\t\tN/A\n"
TOPO += "GPU1\tNV18\t X \t0-31\t0\t\tN/A\n\nLegend:\n\n  X    = Self\n"


def plan(profile: str, *overrides: str) -> Plan:
    inventory = load(ROOT)
    return plan_for(inventory.profile(profile, overrides), inventory.hosts("gpu-lxc"))


def details(gpu: int, **changes: Any) -> dict[str, Any]:
    """A GPU as nvidia-smi and sysfs tell of it."""
    return {
        "index": str(gpu),
        "pci_bus_id": f"00000000:{gpu + 16:02X}:00.0",
        "compute_cap": "12.0",
        "driver_version": "580.159.04",
        "power_limit": "600.00",
        "power_max_limit": "600.00",
        "ecc_errors_uncorrected_volatile_total": "0",
        "mig_mode_current": "[N/A]",
        "temperature_gpu": "39",
        "numa": gpu // 4,
        **changes,
    }


HOST: dict[str, Any] = {
    "t": 1000.0,
    "user": "root",
    "python": "3.11.2",
    "kernel": "6.8",
    "arch": "x86_64",
    "ports": {"8000": {"holder": None}},
    "venv": {"python": "/root/ml-env/bin/python", "exists": True, "sglang": "0.5.9"},
    "gpus": [{"index": n, "name": "NVIDIA RTX PRO 6000", "total_mib": 97887, "used_mib": 4} for n in range(8)],
    "gpu_holders": [],
    "look": {
        "flags": {"error": None, "halves": [], "cached": False},
        "software": {
            "packages": {"torch": "2.9.1+cu128", "sgl_kernel": "0.3.21", "flashinfer_python": "0.6.2"},
            "pins": {"sgl_kernel": "0.3.21", "flashinfer_python": "0.6.2"},
            "programs": {"nvcc": "/usr/local/cuda/bin/nvcc", "ninja": "/usr/bin/ninja"},
            "proxies": {},
            "token": True,
            "offline": False,
            "hub": "/root/.cache/huggingface/hub",
            "jit_locks": [],
        },
        "model": {
            "model": "lukealonso/GLM-5-NVFP4",
            "local": False,
            "folder": "/root/.cache/huggingface/hub/x",
            "exists": True,
            "config": {
                "num_attention_heads": 64,
                "num_hidden_layers": 78,
                "kv_lora_rank": 512,
                "n_routed_experts": 256,
            },
            "tokenizer": True,
            "files": 90,
            "missing": [],
            "broken": [],
            "bytes": 440 * 2**30,
        },
        "cards": {
            "details": [details(gpu) for gpu in range(8)],
            "cuda": "13.0",
            "links": "",
            "openers": [],
            "nodes": list(range(8)),
            "virtualization": "lxc",
            "numa": {"0": "0-31", "1": "32-63"},
        },
    },
}


def check(made: Plan, facts: dict[str, Any], *, ours: tuple[str, ...] = ()) -> list[Finding]:
    """What is found beside what is well."""
    return [finding for finding in findings(made, [facts], ours=ours, now=1000.0) if finding.level != "ok"]


@pytest.fixture
def facts() -> dict[str, Any]:
    """A host on which the reference profile can be deployed."""
    return copy.deepcopy(HOST)


def test_the_reference_profile_on_its_host_has_nothing_but_ok(facts: dict[str, Any]) -> None:
    assert check(plan("tp4pp2"), facts) == []


def test_on_a_lab_host_what_is_missing_is_there_by_the_lab_s_own_command(facts: dict[str, Any]) -> None:
    facts["venv"] = {"python": "/opt/allranks-lab/venv/bin/python", "exists": False}
    facts["look"]["model"] = {"model": "/opt/allranks-lab/models/m", "local": True, "exists": False}
    made = plan("tp4pp2")
    of_lab = plan_for(made.profile, [made.nodes[0].host.model_copy(update={"lab": True})])

    assert {finding.do for finding in check(of_lab, facts)} == {"inv lab.up --sglang"}
    assert {finding.do for finding in check(made, facts)} == {
        "correct `venv` in the inventory",
        "copy it there, or correct `model`",
    }


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"num_attention_heads": 66}, "66 attention heads cannot be split over 4 ranks"),
        ({"num_attention_heads": 64, "num_key_value_heads": 6}, "6 key-value heads and 4 tensor ranks"),
    ],
)
def test_heads_that_cannot_be_split_are_refused(facts: dict[str, Any], config: dict[str, int], said: str) -> None:
    facts["look"]["model"]["config"] = config

    (refusal,) = check(plan("tp4pp2"), facts)

    assert (refusal.level, refusal.topic) == ("refusal", "layout")
    assert said in refusal.found


def test_a_group_that_crosses_numa_nodes_is_warned_about_with_the_layout_that_does_not(facts: dict[str, Any]) -> None:
    (warning,) = check(plan("tp8"), facts)

    assert (warning.level, warning.topic) == ("warning", "topology")
    assert "GPU 3 on NUMA 0, GPU 4 on NUMA 1" in warning.found
    assert warning.do == "--set tp=4 --set pp=2 stays within each"


def test_attention_dp_splits_no_group_as_far_as_the_links_go(facts: dict[str, Any]) -> None:
    made = plan("tp8", "layout.dp=8", "flags.enable_dp_attention=true")

    assert "topology" in {finding.topic for finding in check(made, facts)}


def test_gpus_that_could_be_chosen_on_one_numa_node_are_named(facts: dict[str, Any]) -> None:
    made = plan("tp4pp2", "layout.pp=1", "gpus=[2,3,4,5]")

    (warning,) = [finding for finding in check(made, facts) if finding.topic == "topology"]

    assert warning.do == "--set gpus=[0, 1, 2, 3] stays within one"


def test_nvlink_between_all_makes_numa_nodes_no_matter(facts: dict[str, Any]) -> None:
    names = [f"GPU{gpu}" for gpu in range(8)]
    rows = ["\t".join([one, *("X" if one == other else "NV18" for other in names)]) for one in names]
    facts["look"]["cards"]["links"] = "\n".join(["\t".join(["", *names]), *rows])

    assert check(plan("tp8"), facts) == []


def test_a_numa_node_that_the_inventory_has_wrong_is_said(facts: dict[str, Any]) -> None:
    facts["look"]["cards"]["details"][7]["numa"] = 0

    assert any("GPU 7 is on NUMA node 0, the inventory says 1" in str(each) for each in check(plan("tp4pp2"), facts))


def test_a_gpu_in_use_names_who_by_proc_where_nvidia_smi_lists_nobody(facts: dict[str, Any]) -> None:
    facts["gpus"][2]["used_mib"] = 90000
    opener = {"pid": 77, "user": "bob", "cmdline": "python train.py", "indexes": [2], "run": None}
    facts["look"]["cards"]["openers"] = [opener]

    (refusal,) = check(plan("tp4pp2"), facts)

    assert refusal.level == "refusal"
    assert "GPU 2 is in use: 87.9 GiB by pid 77 of bob: python train.py" in refusal.found


def test_a_gpu_in_use_by_nobody_that_can_be_seen_is_refused_all_the_same(facts: dict[str, Any]) -> None:
    facts["gpus"][2]["used_mib"] = 90000

    (refusal,) = check(plan("tp4pp2"), facts)

    assert "outside this container?" in refusal.found


def test_memory_of_a_run_that_will_be_stopped_does_not_count(facts: dict[str, Any]) -> None:
    holder = {"index": 2, "pid": 5, "used_mib": 90000, "user": "root", "cmdline": "sglang::scheduler_TP2", "run": "r1"}
    facts["gpus"][2]["used_mib"] = 90000
    facts["gpu_holders"] = [holder]

    assert check(plan("tp4pp2"), facts, ours=("r1",)) == []


@pytest.mark.parametrize(
    ("change", "level", "part"),
    [
        ({"ecc_errors_uncorrected_volatile_total": "3"}, "warning", "3 uncorrected memory errors"),
        ({"mig_mode_current": "Enabled"}, "warning", "is divided (MIG)"),
        ({"power_limit": "300.00"}, "warning", "limited to 300 of 600 W"),
        ({"compute_cap": "9.0"}, "warning", "compute capability 9.0, quantization modelopt_fp4"),  # in 0.5.9
    ],
)
def test_what_nvidia_smi_tells_of_a_gpu_is_held_against_the_plan(
    facts: dict[str, Any], change: dict[str, str], level: str, part: str
) -> None:
    facts["look"]["cards"]["details"][1].update(change)

    (found,) = check(plan("tp4pp2"), facts)

    assert found.level == level and part in found.found


def test_what_a_release_can_do_on_a_gpu_is_that_releases_own_word(facts: dict[str, Any]) -> None:
    facts["look"]["cards"]["details"] = [details(gpu, compute_cap="9.0") for gpu in range(8)]
    facts["venv"]["sglang"] = "0.5.23"

    assert "gpu" not in {each.topic for each in check(plan("tp4pp2"), facts)}  # by Marlin since 0.5.16


@pytest.mark.parametrize(
    ("flag", "value", "version", "capability", "needed"),
    [
        ("quantization", "fp8", "0.5.9", 7.5, "8.0"),
        ("quantization", "w8a8_fp8", "0.5.23", 8.0, "8.9"),
        ("attention_backend", "fa3", "0.5.23", 12.0, "8.0 to 9.9"),
        ("decode_attention_backend", "trtllm_mha", "0.5.9", 12.0, "10.0 to 10.9"),
        ("decode_attention_backend", "trtllm_mha", "0.5.23", 12.0, ""),
        ("prefill_attention_backend", "trtllm_mla", "0.5.9", 12.0, ""),
        ("attention_backend", "flashmla", "0.5.9", 12.0, ""),  # no source tells
    ],
)
def test_capabilities_are_those_of_sglangs_sources(
    flag: str, value: str, version: str, capability: float, needed: str
) -> None:
    rows = [row for _, row in unable({flag: value}, version, capability)]

    assert [f"{row.least}" + (f" to {row.most}" if row.most < 99 else "") for row in rows] == (
        [needed] if needed else []
    )


def matrix(cell: str, other: str) -> str:
    """As `nvidia-smi topo` prints one, with `other` between GPU 0 and GPU 1."""
    names = [f"GPU{gpu}" for gpu in range(8)]
    pair = {"GPU0", "GPU1"}
    rows = [
        "\t".join([" " + one, *("X" if one == two else other if {one, two} == pair else cell for two in names)])
        for one in names
    ]
    return "\n".join(["\t".join([" ", *names]), *rows])


def test_gpus_of_a_group_without_peer_access_are_named_with_the_reason(facts: dict[str, Any]) -> None:
    facts["look"]["cards"]["peers"] = matrix("OK", "CNS")

    (warning,) = check(plan("tp4pp2"), facts)

    assert warning.topic == "p2p"
    assert "GPU 0 and GPU 1 have no access to each other's memory: the chipset does not support it" in warning.found


def test_gpus_that_never_talk_to_each_other_need_no_peer_access(facts: dict[str, Any]) -> None:
    facts["look"]["cards"]["peers"] = matrix("OK", "CNS")
    made = plan("tp4pp2", "layout.tp=1", "layout.pp=2", "gpus=[0,2]")

    assert "p2p" not in {each.topic for each in check(made, facts)}


@pytest.mark.parametrize(
    ("virtualization", "link", "said"), [("none", "PHB", True), ("kvm", "PHB", False), ("none", "NV18", False)]
)
def test_an_iommu_between_gpus_on_pcie_is_said_on_bare_metal(
    facts: dict[str, Any], virtualization: str, link: str, said: bool
) -> None:
    facts["look"]["cards"].update(iommu=True, virtualization=virtualization, peers=matrix("OK", "OK"))
    facts["look"]["cards"]["links"] = matrix(link, link)

    assert ("p2p" in {each.topic for each in check(plan("tp4pp2"), facts)}) == said


def xid(number: int, bus: str, t: float = 900.0) -> dict[str, Any]:
    return {"kind": "xid", "number": number, "name": f"PCI:0000:{bus}:00", "t": t, "text": ""}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (xid(79, "11"), "XID 79 of GPU 1"),
        (xid(31, "11"), ""),  # a program's own fault
        (xid(79, "7f"), ""),  # another card
        (xid(79, "11", 900.0 - 8 * 86400), ""),
    ],
)
def test_an_xid_error_of_the_plans_gpus_is_said(facts: dict[str, Any], line: dict[str, Any], said: str) -> None:
    facts["look"]["kernel"] = {"readable": True, "lines": [line]}

    found = [each.found for each in check(plan("tp4pp2"), facts)]

    assert [text.removeprefix("the kernel has said ") for text in found] == ([said] if said else [])


def test_a_kernel_log_that_may_not_be_read_is_no_trouble_and_said_once(facts: dict[str, Any]) -> None:
    facts["look"]["kernel"] = {"readable": False, "why": "Operation not permitted", "lines": []}

    found = findings(plan("tp4pp2"), [facts], now=1000.0)

    assert [each.level for each in found if each.topic == "xid"] == ["ok"]
    assert any("XID errors are unknown" in each.found for each in found)


def test_weights_that_cannot_fit_are_refused_as_an_estimate(facts: dict[str, Any]) -> None:
    facts["look"]["model"]["bytes"] = 1200 * 2**30

    (refusal,) = check(plan("tp4pp2"), facts)

    assert "150.0 GiB a rank (an estimate), GPU 0 has 95.6 GiB free" in refusal.found


def test_a_torch_for_a_newer_cuda_than_the_drivers_is_refused(facts: dict[str, Any]) -> None:
    facts["look"]["cards"]["cuda"] = "11.8"

    (refusal,) = check(plan("tp4pp2"), facts)

    assert refusal.found == "torch is built for CUDA 12.8, the driver is for 11.8"


def test_kernels_older_than_sglangs_own_are_said(facts: dict[str, Any]) -> None:
    facts["look"]["software"]["packages"]["sgl_kernel"] = "0.3.9"

    (warning,) = check(plan("tp4pp2"), facts)

    assert (warning.needed, warning.do) == ("0.3.21", "pip install sgl-kernel==0.3.21")


def test_a_compiler_that_the_settings_need_is_looked_for(facts: dict[str, Any]) -> None:
    facts["look"]["software"]["programs"]["nvcc"] = None

    (warning,) = check(plan("tp4pp2"), facts)

    assert warning.topic == "compiler" and "non-login shell" in warning.found


@pytest.mark.parametrize(("offline", "level"), [(True, "refusal"), (False, "warning")])
def test_a_model_that_is_not_in_the_cache_is_refused_only_offline(
    facts: dict[str, Any], offline: bool, level: str
) -> None:
    facts["look"]["software"]["offline"] = offline
    facts["look"]["model"] = {"model": "lukealonso/GLM-5-NVFP4", "local": False, "folder": None, "exists": False}

    (found,) = check(plan("tp4pp2"), facts)

    assert found.level == level


def test_gpus_that_are_not_there_are_refused_and_nothing_else_is_made_of_it(facts: dict[str, Any]) -> None:
    facts["gpus"] = facts["gpus"][:4]

    (refusal,) = check(plan("tp4pp2"), facts)

    assert refusal.found == "GPU 4, 5, 6, 7 of the plan is not there (nvidia-smi lists 0, 1, 2, 3)"


def test_facts_without_the_closer_look_are_judged_by_what_they_have(facts: dict[str, Any]) -> None:
    del facts["look"]

    assert check(plan("tp4pp2"), facts) == []


def test_links_are_read_from_a_real_matrix() -> None:
    assert links_of(TOPO) == {(0, 1): "NV18", (1, 0): "NV18"}
    assert links_of("nothing of the kind") == {}


def test_a_host_is_drawn_with_its_nodes_links_and_ranks(facts: dict[str, Any]) -> None:
    facts["gpus"] = facts["gpus"][:2]
    facts["look"]["cards"].update(details=[details(0), details(1)], links=TOPO, numa={"0": "0-31"})

    drawn = "\n".join(draw("box", facts, {}, {0: "PP0 TP0"}))

    assert "box: x86_64, virtualization lxc, driver 580.159.04 (CUDA 13.0)" in drawn
    assert "NUMA 0  cores 0-31" in drawn and "<- PP0 TP0" in drawn
    assert "NVn = NVLink" in drawn and "GPU0  -     NV18" in drawn
