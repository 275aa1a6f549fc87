import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roles.inventory import Host, InputError, Profile, load
from roles.plan import Plan, plan_for

ROOT = Path(__file__).resolve().parents[2]


def profile(**fields: Any) -> Profile:
    return Profile.model_validate({"name": "p", "model": "m", **fields})


def host(name: str = "a", **fields: Any) -> Host:
    return Host.model_validate({"name": name, **fields})


def refusal(made: Profile, *hosts: Host) -> str:
    with pytest.raises(InputError) as caught:
        plan_for(made, hosts)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def argv(made: Profile, *hosts: Host, node: int = 0) -> str:
    return " ".join(plan_for(made, hosts or (host(),)).nodes[node].argv)


# argv


def test_flags_are_spelled_in_full_and_sizes_of_one_for_dp_and_ep_are_left_to_sglang() -> None:
    assert argv(profile()) == (
        "python3 -m sglang.launch_server --model-path m --tp-size 1 --pp-size 1 --host 0.0.0.0 --port 30000"
    )


def test_dp_and_ep_are_said_when_they_are_asked_for() -> None:
    assert "--dp-size 2 --ep-size 1 --host" in argv(profile(layout={"dp": 2, "ep": 1}))


def test_flags_follow_in_the_order_they_are_written_and_extra_arguments_last() -> None:
    flags = {
        "trust_remote_code": True,
        "disable_radix_cache": False,
        "kv_cache_dtype": None,
        "cuda_graph_bs": [1, 2],
        "json_model_override_args": {"a": {"b": [1, True]}},
        "mem_fraction_static": 0.92,
    }
    assert argv(profile(flags=flags, extra_args=["--x-y", "-1"])).partition("--port 30000 ")[2] == (
        '--trust-remote-code --cuda-graph-bs 1 2 --json-model-override-args {"a":{"b":[1,true]}} '
        "--mem-fraction-static 0.92 --x-y -1"
    )


@pytest.mark.parametrize(
    ("value", "words"), [("-x", "--a-b=-x"), ("--c", "--a-b=--c"), (-1, "--a-b -1"), ("-0.5", "--a-b -0.5")]
)
def test_a_value_that_argparse_would_take_for_a_flag_is_joined_to_its_own(value: object, words: str) -> None:
    assert argv(profile(flags={"a_b": value})).endswith(f"--port 30000 {words}")


def test_the_virtual_environment_of_the_profile_goes_before_that_of_the_host() -> None:
    assert argv(profile(), host(venv="/h")).startswith("/h/bin/python -m")
    assert argv(profile(venv="/p"), host(venv="/h")).startswith("/p/bin/python -m")
    assert argv(profile(), host(python="/usr/bin/python3.11")).startswith("/usr/bin/python3.11 -m")


def test_a_model_on_the_host_is_looked_for_in_the_folder_of_each_host() -> None:
    made = profile(model="host:tiny", layout={"tp": 2, "nnodes": 2})
    plan = plan_for(made, (host("a", models="/x"), host("b", models="/y/")))

    assert [node.argv[4] for node in plan.nodes] == ["/x/tiny", "/y/tiny"]
    assert plan.expected["model_path"] == plan.expected["served_model_name"] == "/x/tiny"


def test_a_model_on_a_host_without_such_a_folder_is_refused() -> None:
    assert refusal(profile(model="host:tiny"), host()) == (
        "profile p: model is host:tiny, but a has no models folder; "
        "give the host models: FOLDER, or write the model's own path"
    )


# hosts and nodes


def test_several_nodes_are_told_apart_and_where_to_meet() -> None:
    hosts = host("a", address="1.2.3.4", internal="10.0.0.1", interface="eth1"), host("b", interface="eth2")
    plan = plan_for(profile(layout={"tp": 2, "nnodes": 2}, dist_port=5000), hosts)

    assert "--nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000" in " ".join(plan.nodes[0].argv)
    assert "--nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.1:5000" in " ".join(plan.nodes[1].argv)
    assert [node.environment["NCCL_SOCKET_IFNAME"] for node in plan.nodes] == ["eth1", "eth2"]
    assert [node.environment["GLOO_SOCKET_IFNAME"] for node in plan.nodes] == ["eth1", "eth2"]
    assert [node.ports for node in plan.nodes] == [(30000, 5000), (30000,)]


def test_what_the_profile_says_about_interfaces_holds() -> None:
    made = profile(layout={"tp": 2, "nnodes": 2}, environment={"NCCL_SOCKET_IFNAME": "ib0"})
    plan = plan_for(made, (host("a", interface="eth1"), host("b", interface="eth1")))

    assert plan.nodes[0].environment == {"NCCL_SOCKET_IFNAME": "ib0", "GLOO_SOCKET_IFNAME": "eth1"}


def test_one_node_needs_no_interface() -> None:
    assert plan_for(profile(), [host(interface="eth1")]).nodes[0].environment == {}


def test_an_ipv6_meeting_point_has_brackets() -> None:
    assert "--dist-init-addr [fd00::1]:20000" in argv(
        profile(layout={"tp": 2, "nnodes": 2}), host("a", address="fd00::1"), host("b", address="fd00::2")
    )


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "127.1.2.3", "::1", "LOCALHOST"])
def test_a_loopback_address_is_no_meeting_point(address: str) -> None:
    found = refusal(profile(layout={"tp": 2, "nnodes": 2}), host("a", address=address), host("b"))

    assert found == (
        f"a: {address} is where every host finds itself, not where the others find node 0; "
        "give a internal: the address that b reaches it at"
    )


def test_hosts_of_the_lab_may_share_the_loopback_and_get_different_ports() -> None:
    labs = [host(f"lab{n}", address="127.0.0.1", port=2200 + n, lab=True) for n in (1, 2, 3)]
    plan = plan_for(profile(layout={"tp": 3, "nnodes": 3}), labs)

    assert [node.port for node in plan.nodes] == [30000, 30001, 30002]
    assert [node.argv[node.argv.index("--port") + 1] for node in plan.nodes] == ["30000", "30001", "30002"]


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ([host("a", address="x"), host("b", address="X")], "a and b are the same host (x); give different hosts"),
        (
            [host("lab", address="1.1.1.1", lab=True), host("lab1", address="1.1.1.1", lab=True)],
            "lab and lab1 are the same host (1.1.1.1); give different hosts",
        ),
        (
            [host("a", address="x", port=22), host("b", address="x", port=23)],
            "a and b are one machine to the other nodes (x); give each its own internal: address",
        ),
        ([host("a")], "profile p: layout.nnodes is 2, 1 hosts were given (a); give 2 hosts, node 0 first"),
        ([], "profile p: layout.nnodes is 2, 0 hosts were given (none); give 2 hosts, node 0 first"),
    ],
)
def test_hosts_that_cannot_be_the_nodes_are_refused(hosts: list[Host], message: str) -> None:
    assert refusal(profile(layout={"tp": 2, "nnodes": 2}), *hosts) == message


def test_a_profile_without_nnodes_is_spread_over_the_hosts_it_is_given() -> None:
    plan = plan_for(profile(layout={"tp": 2, "pp": 2}), [host("a"), host("b")])

    assert [(seat.label, seat.host) for seat in plan.ranks] == [
        ("PP0 TP0", "a"),
        ("PP0 TP1", "a"),
        ("PP1 TP0", "b"),
        ("PP1 TP1", "b"),
    ]
    assert plan.expected["nnodes"] == 2


@pytest.mark.parametrize("layout", [{}, {"tp": 3}, {"tp": 2, "nnodes": 1}])
def test_several_hosts_for_a_profile_that_cannot_be_spread_are_answered_with_the_way_out(
    layout: dict[str, int],
) -> None:
    assert refusal(profile(layout=layout), host("a"), host("b")) == (
        "profile p is for one host, 2 were given (a, b); name one, or --replicas for a deployment on each"
    )


# GPUs


def test_the_first_gpus_are_used_and_nothing_is_hidden() -> None:
    plan = plan_for(profile(layout={"tp": 2}), [host(gpus=4, numa={"0": [0], "1": [1, 2, 3]})])

    assert [(seat.gpu, seat.numa) for seat in plan.ranks] == [(0, 0), (1, 1)]
    assert "CUDA_VISIBLE_DEVICES" not in plan.nodes[0].environment


@pytest.mark.parametrize(
    ("fields", "on", "visible"),
    [
        ({"gpus": [2, 3]}, host(gpus=4), "2,3"),
        ({"gpus": [3, 2]}, host(gpus=4), "3,2"),
        ({"gpus": [0, 1]}, host(gpus=4), "0,1"),
        ({"gpus": [6, 7]}, host(), "6,7"),
        ({}, host(numa={"1": [4, 5]}), "4,5"),
    ],
)
def test_other_gpus_than_sglang_would_take_are_made_the_visible_ones(
    fields: dict[str, Any], on: Host, visible: str
) -> None:
    plan = plan_for(profile(layout={"tp": 2}, **fields), [on])

    assert plan.nodes[0].environment["CUDA_VISIBLE_DEVICES"] == visible
    assert ",".join(str(seat.gpu) for seat in plan.ranks) == visible


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"layout": {"tp": 4, "pp": 2}}, "the layout needs 8 GPUs on a, which has 4; tp=4 x pp=2 must equal"),
        ({"layout": {"tp": 2, "dp": 4}}, "the layout needs 8 GPUs on a, which has 4; tp=2 x pp=1 x dp=4 must equal"),
        ({"layout": {"tp": 2}, "gpus": [0]}, "gpus names 1, the layout needs 2 on a; tp=2 x pp=1 must equal"),
        ({"layout": {"tp": 1}, "gpus": [0, 1]}, "gpus names 2, the layout needs 1 on a; tp=1 x pp=1 must equal"),
        ({"gpus": [4]}, "gpus: there is no GPU 4; a has GPU 0, 1, 2, 3; name those it has"),
    ],
)  # fmt: skip
def test_gpus_that_are_not_there_are_refused(fields: dict[str, Any], message: str) -> None:
    assert refusal(profile(**fields), host(gpus=4)).startswith(f"profile p: {message}")


def test_a_cpu_has_no_gpus_to_check() -> None:
    plan = plan_for(profile(layout={"tp": 16}, flags={"device": "cpu"}), [host(gpus=1)])

    assert {(seat.gpu, seat.numa) for seat in plan.ranks} == {(None, None)}
    assert plan.graphs is False


# the rest


def test_attention_dp_needs_more_ports() -> None:
    made = {"layout": {"tp": 2, "dp": 2}, "flags": {"enable_dp_attention": True}, "port": 8000}

    assert plan_for(profile(**made), [host()]).nodes[0].ports == (8000, *range(8233, 8240), 8013)


def test_a_port_beyond_the_last_is_refused() -> None:
    made = profile(layout={"tp": 2, "dp": 2}, flags={"enable_dp_attention": True}, port=65500)

    assert refusal(made, host()) == "profile p: port 65739 would be needed, 65535 is the last one"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"attn_cp_size": 2}, "flags.attn_cp_size: layouts with this axis are not supported yet"),
        ({"moe_dp_size": 2}, "flags.moe_dp_size: layouts with this axis are not supported yet"),
    ],
)
def test_flags_that_ranks_could_not_be_followed_with_are_refused(flags: dict[str, Any], message: str) -> None:
    assert refusal(profile(flags=flags), host()).startswith(f"profile p: {message}")


def test_a_log_level_that_hides_the_milestones_is_told_to_the_watch() -> None:
    assert plan_for(profile(flags={"log_level": "warning"}), [host()]).expected["log_level"] == "warning"
    assert "log_level" not in plan_for(profile(), [host()]).expected


@pytest.mark.parametrize(("bind", "probe"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("10.0.0.1", "10.0.0.1")])
def test_the_server_is_probed_where_it_listens(bind: str, probe: str) -> None:
    assert plan_for(profile(host=bind), [host()]).nodes[0].probe_address == probe


def test_expected_settings_are_those_that_sglang_reports() -> None:
    made = profile(served_model_name="s", layout={"tp": 4, "pp": 2, "ep": 2}, port=8000)

    assert plan_for(made, [host()]).expected == {
        "tp_size": 4,
        "pp_size": 2,
        "dp_size": 1,
        "ep_size": 2,
        "nnodes": 1,
        "model_path": "m",
        "served_model_name": "s",
        "port": 8000,
    }


def test_attention_dp_is_not_held_against_dp_size_which_newer_versions_rewrite() -> None:
    made = profile(layout={"tp": 2, "dp": 2}, flags={"enable_dp_attention": True})

    assert "dp_size" not in plan_for(made, [host()]).expected


@pytest.mark.parametrize(
    ("fields", "graphs"),
    [({}, None), ({"graphs": True}, True), ({"flags": {"disable_cuda_graph": True}}, False)],
)
def test_graphs_are_expected_as_flags_or_the_profile_say(fields: dict[str, Any], graphs: bool | None) -> None:
    assert plan_for(profile(**fields), [host()]).graphs is graphs


def test_a_deployment_is_called_after_its_profile_and_hosts_unless_it_has_a_name() -> None:
    two = profile(layout={"tp": 2, "nnodes": 2})

    assert plan_for(two, [host("a"), host("b")]).name == "p@a,b"
    assert plan_for(profile(), [host()], "blue").name == "blue"


@pytest.mark.parametrize("name", ["a\nb", "a/b", "-x", " a", "a\x1b"])
def test_a_name_that_no_file_or_comment_could_hold_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot name a deployment"):
        plan_for(profile(), [host()], name)


def hash_of(made: Profile, *hosts: Host) -> str:
    return plan_for(made, hosts or (host(),)).hash


def test_the_same_plan_has_the_same_hash_in_another_process() -> None:
    program = (
        "from pathlib import Path; from roles.inventory import load; from roles.plan import plan_for; "
        "i = load(Path('.')); print(plan_for(i.profile('tp8'), i.hosts('gpu-lxc')).hash)"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    inventory = load(ROOT)

    assert found.stdout.strip() == hash_of(inventory.profile("tp8"), *inventory.hosts("gpu-lxc"))


def test_the_hash_follows_all_that_the_host_would_do_differently() -> None:
    different: list[dict[str, Any]] = [
        {},
        {"port": 1},
        {"flags": {"a_b": 1}},
        {"extra_args": ["x"]},
        {"environment": {"A": "1"}},
        {"secrets": {"A": "env:A"}},
        {"secrets": {"A": "env:B"}},
        {"log": "/l"},
        {"venv": "/v"},
        {"gpus": [1]},
    ]
    hashes = [hash_of(profile(**fields)) for fields in different]

    assert len(set(hashes)) == len(different)
    assert hash_of(profile(layout={"tp": 2, "nnodes": 2}), host("a"), host("b")) != hash_of(
        profile(layout={"tp": 2, "nnodes": 2}), host("a"), host("c")
    )


def test_the_hash_does_not_follow_how_a_host_is_reached_or_how_long_is_waited() -> None:
    assert hash_of(profile(), host()) == hash_of(profile(timeouts={"stop": 5}), host(user="x", port=23, address="y"))


def test_a_plan_is_a_value() -> None:
    first, second = (plan_for(profile(), [host()]) for _ in range(2))

    assert first == second and isinstance(first, Plan) and first.hosts == ("a",)
    with pytest.raises(AttributeError):
        first.name = "other"  # type: ignore[misc]


# the reference launch


REFERENCE = (
    "/root/ml-env/bin/python -m sglang.launch_server --model-path lukealonso/GLM-5-NVFP4 --served-model-name glm-5 "
    "--tp-size {tp} --pp-size {pp} --host 0.0.0.0 --port 8000 --reasoning-parser glm45 --tool-call-parser glm47 "
    "--trust-remote-code --mem-fraction-static 0.92 --max-running-requests 1024 --kv-cache-dtype auto "
    "--quantization modelopt_fp4 --attention-backend flashinfer --fp8-gemm-backend cutlass "
    "--nsa-decode-backend trtllm --nsa-prefill-backend trtllm --moe-runner-backend flashinfer_cutlass "
    "--disable-cuda-graph --disable-radix-cache"
)


@pytest.mark.parametrize(("name", "tp", "pp"), [("tp8", 8, 1), ("tp4pp2", 4, 2)])
def test_the_reference_profiles_are_the_reference_launch(name: str, tp: int, pp: int) -> None:
    inventory = load(ROOT)
    node = plan_for(inventory.profile(name), inventory.hosts("gpu-lxc")).nodes[0]

    assert " ".join(node.argv) == REFERENCE.format(tp=tp, pp=pp)
    assert node.environment == {
        "NCCL_IB_DISABLE": "1",
        "NCCL_P2P_LEVEL": "5",
        "NCCL_MIN_NCHANNELS": "8",
        "OMP_NUM_THREADS": "8",
        "SAFETENSORS_FAST_GPU": "1",
        "CUDA_HOME": "/usr/local/cuda-12.8",
        "PYTHONUNBUFFERED": "1",
    }
    assert node.log == "/root/sglang-server.log"


def test_each_stage_of_tp4pp2_is_on_one_numa_node() -> None:
    inventory = load(ROOT)
    plan = plan_for(inventory.profile("tp4pp2"), inventory.hosts("gpu-lxc"))

    assert {(seat.rank.pp, seat.numa) for seat in plan.ranks} == {(0, 0), (1, 1)}
