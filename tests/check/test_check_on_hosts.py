"""inv check on real sshd hosts: each finding is provoked for real, and a clean host has none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roles.lab.host import LabHost
from roles.lab.written import entry
from tests.check import provoke
from tests.check.provoke import check
from tests.hosts.clone import Clone, eventually
from tests.hosts.labs import disk
from tests.hosts.reach import OWN_KEYS, add_user, second_sshd, shell

pytestmark = pytest.mark.hosts
TWO: dict[str, Any] = {"layout": {"tp": 2, "pp": 2, "nnodes": 2}, "dist_port": 24500}


def only(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The one thing found."""
    assert len(found) == 1, found
    return found[0]


def test_a_clean_host_reports_nothing_but_ok_and_nothing_is_changed_there(clone: Clone, host: LabHost) -> None:
    clone.inv("check", "--host", "lab", "--profile", "small")  # puts the on-host program there
    before = _files(host)

    done, found = check(clone)

    assert (done.code, found) == (0, [])
    assert {finding["topic"] for finding in done.json["findings"]} >= {
        "ssh",
        "port",
        "sglang",
        "flags",
        "model",
        "room",
    }
    assert _files(host) == before


def _files(host: LabHost) -> dict[Path, int]:
    """Every file but the program itself, which Python keeps compiled beside it, with the time of its last change."""
    found = [path for path in disk(host).rglob("*") if "bin" not in path.parts[len(disk(host).parts) :]]
    return {path: path.stat().st_mtime_ns for path in found if path.is_file()}


def test_the_report_for_people_has_every_finding_and_says_what_to_do(clone: Clone, host: LabHost, port: int) -> None:
    provoke.listening(host, port)

    done = clone.inv("check", "--host", "lab", "--profile", "small")

    assert done.code == 3
    assert "refused   port" in done.out and "do: end it or choose another port" in done.out
    assert "small@lab cannot be deployed: 1 refusal" in done.out


def test_a_taken_port_is_named_with_its_holder_and_deploy_refuses_before_anything_is_changed(
    clone: Clone, host: LabHost, port: int
) -> None:
    provoke.listening(host, port)

    done, found = check(clone)

    assert done.code == 3
    assert f"port {port} is held by pid" in only(found)["found"] and "http.server" in only(found)["found"]
    refused = clone.inv("deploy", "--host", "lab", "--profile", "small")
    assert refused.code == 3 and f"port {port} is held by pid" in refused.err
    assert not list((disk(host) / ".allranks").glob("runs/*"))


def test_a_full_disk_is_refused_with_what_is_free(clone: Clone, linked: list[LabHost]) -> None:
    provoke.small_disk(linked[0], "/root/.allranks", "size=2m")

    done, found = check(clone)

    assert done.code == 3
    assert only(found)["topic"] == "disk" and "of 2 MiB free" in only(found)["found"]


def test_a_disk_without_inodes_is_refused(clone: Clone, linked: list[LabHost]) -> None:
    provoke.small_disk(linked[0], "/root/.allranks", "size=2000m,nr_inodes=40")

    done, found = check(clone)

    assert done.code == 3 and "inodes free" in only(found)["found"]


def test_little_shared_memory_is_a_warning(clone: Clone, linked: list[LabHost]) -> None:
    shell(linked[0], "mount -t tmpfs -o size=64m none /dev/shm")

    done, found = check(clone)

    assert (done.code, only(found)["level"], only(found)["topic"]) == (0, "warning", "shm")
    assert "/dev/shm has 64 of 64 MiB free" in only(found)["found"]


def test_a_folder_that_cannot_be_written_is_refused(clone: Clone, linked: list[LabHost]) -> None:
    clone.inv("check", "--host", "lab", "--profile", "small")
    shell(linked[0], "mount --bind /root/.allranks /root/.allranks && mount -o remount,ro,bind /root/.allranks")

    done, found = check(clone)

    assert done.code == 3 and "cannot be written" in only(found)["found"]


def test_a_python_that_is_not_there_is_a_finding(clone: Clone, hosts: list[LabHost]) -> None:
    clone.hosts(hosts, python="/usr/bin/python9")

    done, found = check(clone)

    assert (done.code, only(found)["topic"]) == (3, "python")
    assert "correct `python`" in only(found)["do"]


def test_a_virtual_environment_that_is_not_there_is_a_finding(clone: Clone, hosts: list[LabHost]) -> None:
    clone.hosts(hosts, venv="/root/no-venv")

    done, found = check(clone)

    assert done.code == 3 and only(found)["found"] == "there is no Python at /root/no-venv/bin/python"


@pytest.fixture
def with_model(clone: Clone, host: LabHost, port: int) -> Callable[..., Path]:
    """Puts a model on the host that the profile then names."""

    def put(**config: Any) -> Path:
        clone.profile("small", port, model=_seen(host), flags={"device": "cpu"})
        return provoke.model(host, **config)

    return put


def _seen(host: LabHost) -> str:
    return str(disk(host) / "model") if host.record.kind == "loopback" else "/root/model"


def test_a_whole_model_is_ok(clone: Clone, with_model: Callable[..., Path]) -> None:
    with_model()

    done, found = check(clone)

    assert (done.code, found) == (0, [])


def test_a_missing_shard_is_named(clone: Clone, with_model: Callable[..., Path]) -> None:
    (with_model() / "model-00002-of-00002.safetensors").unlink()

    done, found = check(clone)

    assert done.code == 3
    assert "1 of the 2 files" in only(found)["found"] and "model-00002-of-00002.safetensors" in only(found)["found"]


def test_a_shard_that_was_cut_short_is_named_with_its_size(clone: Clone, with_model: Callable[..., Path]) -> None:
    shard = with_model() / "model-00001-of-00002.safetensors"
    shard.write_bytes(shard.read_bytes()[:-10])

    done, found = check(clone)

    assert done.code == 3 and "its head says" in only(found)["found"]


def test_a_pointer_of_git_lfs_is_no_shard(clone: Clone, with_model: Callable[..., Path]) -> None:
    (with_model() / "model-00001-of-00002.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")

    done, found = check(clone)

    assert done.code == 3 and "pointer of git-lfs" in only(found)["found"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"num_attention_heads": 9}, "9 attention heads cannot be split over 2 ranks"),
        ({"num_key_value_heads": 3}, "3 key-value heads and 2 tensor ranks"),
    ],
)
def test_heads_that_cannot_be_split_are_only_warned_about_on_the_cpu_where_sglang_pads_them(
    clone: Clone, with_model: Callable[..., Path], config: dict[str, int], said: str
) -> None:
    with_model(**config)

    done, found = check(clone)

    assert done.code == 0 and said in only(found)["found"]


def test_flags_are_refused_by_the_parser_on_the_host_with_the_new_name(clone: Clone, port: int) -> None:
    clone.profile("small", port, extra_args=["--nsa-decode-backend", "trtllm", "--max-running", "4"])

    done, found = check(clone)

    refused = [finding for finding in found if finding["level"] == "refusal"]
    assert done.code == 3
    assert only(refused)["found"] == "--nsa-decode-backend was removed in 0.5.20: --dsa-decode-backend"
    assert only(refused)["do"] == "write flags.dsa_decode_backend"


def test_another_sglang_than_the_profile_wants_is_refused(clone: Clone, port: int) -> None:
    clone.profile("small", port, sglang="0.5.9")

    done, found = check(clone)

    assert done.code == 3 and only(found)["needed"] == "0.5.9"


def test_a_host_without_sftp_is_only_warned_about(clone: Clone, host: LabHost, tmp_path: Path) -> None:
    with second_sshd(host, tmp_path, without="Subsystem") as way:
        clone.hosts({"lab": {**entry(host.folder, host), **way}})

        done, found = check(clone)

    assert (done.code, only(found)["topic"]) == (0, "sftp")


def test_a_login_shell_that_prints_is_said_with_its_first_line(clone: Clone, host: LabHost) -> None:
    (disk(host) / ".bashrc").write_text("echo Welcome to the cluster\n")

    done, found = check(clone)

    assert (done.code, only(found)["topic"]) == (0, "shell")
    assert "Welcome to the cluster" in only(found)["found"]


def test_a_proxy_that_would_catch_the_servers_own_requests_is_said(clone: Clone, host: LabHost, port: int) -> None:
    (disk(host) / ".bashrc").write_text("export http_proxy=http://ada:secret@proxy.example:3128\n")

    done, found = check(clone)

    assert (done.code, only(found)["topic"]) == (0, "proxy")
    assert "http://***@proxy.example:3128" in only(found)["found"] and "secret" not in done.out
    clone.profile("small", port, environment={"no_proxy": "127.0.0.1,localhost"})
    assert check(clone)[1] == []


def test_a_login_whose_processes_end_with_it_is_refused(clone: Clone, host: LabHost, tmp_path: Path) -> None:
    add_user(host, "grace")
    shell(host, "mkdir -p /run/systemd/system /run/systemd/logind.conf.d")
    shell(host, "printf '[Login]\\nKillUserProcesses=yes\\n' >/run/systemd/logind.conf.d/kill.conf")
    with second_sshd(host, tmp_path, OWN_KEYS) as way:
        clone.hosts({"lab": {**entry(host.folder, host), **way, "user": "grace"}})

        done, found = check(clone)

    assert done.code == 3
    assert only(found)["do"] == "as root there: loginctl enable-linger grace"


def test_a_clock_that_is_wrong_is_a_warning(clone: Clone, hosts: list[LabHost], host: LabHost) -> None:
    # Linux has no clock of a host's own to set, so the host's Python is given a wrong one.
    wrapper, late = disk(host) / "python-an-hour-late", disk(host) / "late.py"
    late.write_text(
        "import sys, time\nnow = time.time\ntime.time = lambda: now() - 3600\n"
        "del sys.argv[: sys.argv.index('-c') + 1]\nexec(sys.argv[0])\n"
    )
    wrapper.write_text('#!/bin/sh\nexec python3 -I "$(dirname "$0")/late.py" "$@"\n')
    wrapper.chmod(0o755)
    clone.inv("check", "--host", "lab", "--profile", "small")
    clone.hosts(hosts, python=str(wrapper) if host.record.kind == "loopback" else "/root/python-an-hour-late")

    done, found = check(clone)

    assert (done.code, only(found)["topic"]) == (0, "clock")
    assert "-3600 s" in only(found)["found"]


def test_a_stranger_that_has_a_gpu_open_is_found_in_proc(clone: Clone, linked: list[LabHost], port: int) -> None:
    provoke.gpu_device(linked[0], held=True)
    clone.hosts(linked, gpus=1)
    clone.profile("small", port, layout={}, flags={"load_format": "dummy"})

    done, found = check(clone)

    assert done.code == 3
    assert any("GPU 0 is open in pid" in finding["found"] and "sleep 300" in finding["found"] for finding in found)
    assert any("GPU 0 of the plan is not there" in finding["found"] for finding in found)


def test_a_connection_that_may_have_one_session_only_is_said(clone: Clone, host: LabHost, tmp_path: Path) -> None:
    with second_sshd(host, tmp_path, "MaxSessions 1") as way:
        clone.hosts({"lab": {**entry(host.folder, host), **way}})
        clone.inv("check", "--host", "lab", "--profile", "small")  # brings the program

        done, found = check(clone)

    assert (done.code, only(found)["topic"], only(found)["needed"]) == (0, "sessions", "4")
    assert "lets a connection have 1 session at a time" in only(found)["found"]


def test_a_virtual_environment_without_sglang_is_refused(clone: Clone, linked: list[LabHost]) -> None:
    shell(linked[0], "mkdir -p /root/empty/bin && ln -s $(command -v python3) /root/empty/bin/python")
    clone.hosts(linked, venv="/root/empty")

    done, found = check(clone)

    assert done.code == 3 and only(found)["found"] == "/root/empty/bin/python has no sglang"


@pytest.mark.parametrize(
    ("option", "value", "said"), [("-n", 1000, "ulimit -n is at most"), ("-u", 900, "ulimit -u is at most")]
)
def test_a_low_limit_is_said(clone: Clone, host: LabHost, option: str, value: int, said: str) -> None:
    (disk(host) / ".bashrc").write_text(f"ulimit {option} {value}\n")

    done, found = check(clone)

    assert (done.code, only(found)["topic"]) == (0, "limits")
    assert f"{said} {value}" in only(found)["found"]


def test_weights_that_the_memory_of_a_cpu_host_cannot_hold_are_refused(
    clone: Clone, with_model: Callable[..., Path]
) -> None:
    shard = with_model(shards=1) / "model-00001-of-00001.safetensors"
    size = 4 << 40  # of holes: nothing is written
    head = provoke.safetensors("w0", 0)[8:].replace(b'"shape": [0]', b'"shape": [%d]' % size)
    head = head.replace(b'"data_offsets": [0, 0]', b'"data_offsets": [0, %d]' % size)
    with shard.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        file.truncate(8 + len(head) + size)

    done, found = check(clone)

    assert done.code == 3 and only(found)["topic"] == "memory"
    assert "the weights take about 4096.0 GiB there (an estimate)" in only(found)["found"]


def test_a_model_without_a_tokenizer_is_said(clone: Clone, with_model: Callable[..., Path]) -> None:
    (with_model() / "tokenizer_config.json").unlink()

    done, found = check(clone)

    assert (done.code, only(found)["do"]) == (0, "copy it there, or set flags.tokenizer_path")


def test_a_download_that_was_not_finished_is_said(clone: Clone, with_model: Callable[..., Path]) -> None:
    (with_model() / "model-00003.safetensors.incomplete").touch()

    done, found = check(clone)

    assert done.code == 0 and "has unfinished downloads" in only(found)["found"]


def test_a_model_without_its_config_is_refused(clone: Clone, with_model: Callable[..., Path]) -> None:
    (with_model() / "config.json").write_text("{")

    done, found = check(clone)

    assert done.code == 3 and "has no readable config.json" in only(found)["found"]


def test_fewer_layers_than_stages_are_refused(clone: Clone, with_model: Callable[..., Path]) -> None:
    with_model(num_hidden_layers=1)

    done, found = check(clone)

    assert done.code == 3 and "the model has 1 layers for 2 pipeline stages" in only(found)["found"]


@pytest.mark.parametrize(("offline", "code"), [("1", 3), ("0", 0)])
def test_a_hub_model_that_is_not_in_the_cache_is_refused_only_offline(
    clone: Clone, port: int, offline: str, code: int
) -> None:
    clone.profile("small", port, model="org/not-here", environment={"HF_HUB_OFFLINE": offline})

    done, found = check(clone)

    assert (done.code, only(found)["topic"]) == (code, "model")
    assert ("HF_HUB_OFFLINE forbids" in only(found)["found"]) == (code == 3)


def test_a_hub_model_in_the_cache_is_ok(clone: Clone, host: LabHost, port: int) -> None:
    base = disk(host) / ".cache/huggingface/hub/models--org--tiny"
    (base / "refs").mkdir(parents=True)
    (base / "refs/main").write_text("c0ffee")
    (base / "snapshots").mkdir()
    provoke.model(host).rename(base / "snapshots/c0ffee")
    clone.profile("small", port, model="org/tiny", flags={"device": "cpu"})

    assert check(clone)[1] == []


def test_nodes_with_different_models_are_refused(clone: Clone, linked: list[LabHost], port: int) -> None:
    for heads, host in zip((8, 16), linked, strict=False):
        provoke.model(host, num_attention_heads=heads)
    clone.profile("small", port, model="/root/model", **{**TWO, "flags": {"device": "cpu"}})

    done, found = check(clone, hosts="lab1,lab2")

    assert done.code == 3 and "config.json differs between lab1, lab2" in only(found)["found"]


def test_the_meeting_port_of_two_nodes_is_looked_at_too(clone: Clone, linked: list[LabHost], port: int) -> None:
    clone.profile("small", port, **TWO)
    provoke.listening(linked[0], TWO["dist_port"])

    done, found = check(clone, hosts="lab1,lab2")

    assert done.code == 3
    assert only(found)["found"].startswith(f"SGLang's internal port {TWO['dist_port']} is held by pid")


def test_two_clean_nodes_report_nothing_but_ok(clone: Clone, linked: list[LabHost], port: int) -> None:
    clone.profile("small", port, **TWO)

    done, found = check(clone, hosts="lab1,lab2")

    assert (done.code, found) == (0, [])


def test_nodes_whose_name_means_loopback_are_refused(clone: Clone, linked: list[LabHost], port: int) -> None:
    clone.hosts(linked, interface=None).profile("small", port, **TWO)
    shell(linked[0], "echo 127.0.1.1 lab1 >/run/hosts && mount --bind /run/hosts /etc/hosts")

    done, found = check(clone, hosts="lab1,lab2")

    assert (done.code, only(found)["topic"], only(found)["host"]) == (3, "hostname", "lab1")


def test_an_interface_that_is_not_there_is_refused(clone: Clone, linked: list[LabHost], port: int) -> None:
    clone.hosts(linked, interface="ib7").profile("small", port, **TWO)

    done, found = check(clone, hosts="lab1,lab2")

    assert done.code == 3 and {finding["topic"] for finding in found} == {"interface"}


def test_an_interface_that_is_down_is_refused(clone: Clone, linked: list[LabHost], port: int) -> None:
    shell(linked[0], "ip link add ib7 type veth peer name ib8")
    told = {name: entry(host.folder, host) for name, host in zip(("lab1", "lab2"), linked, strict=False)}
    clone.hosts({**told, "lab1": {**told["lab1"], "interface": "ib7"}}).profile("small", port, **TWO)

    done, found = check(clone, hosts="lab1,lab2")

    assert (done.code, only(found)["topic"]) == (3, "interface")
    assert only(found)["found"] == "the network interface ib7 is down and has no address"


def test_an_internal_address_that_is_another_hosts_is_said(clone: Clone, linked: list[LabHost], port: int) -> None:
    shell(linked[0], "ip addr add 10.99.0.9/32 dev lo")
    told = {name: entry(host.folder, host) for name, host in zip(("lab1", "lab2"), linked, strict=False)}
    clone.hosts({**told, "lab2": {**told["lab2"], "internal": "10.99.0.9"}}).profile("small", port, **TWO)

    _, found = check(clone, hosts="lab1,lab2")

    assert (only(found)["host"], only(found)["level"], only(found)["topic"]) == ("lab2", "warning", "interface")
    assert "none of its interfaces has its internal address 10.99.0.9" in only(found)["found"]


def test_a_node_that_the_other_cannot_reach_is_refused(clone: Clone, linked: list[LabHost], port: int) -> None:
    told = {name: entry(host.folder, host) for name, host in zip(("lab1", "lab2"), linked, strict=False)}
    clone.hosts({**told, "lab2": {**told["lab2"], "internal": "203.0.113.9"}}).profile("small", port, **TWO)
    for host in linked[:2]:
        shell(host, "ip route add blackhole 203.0.113.0/24")

    done, found = check(clone, hosts="lab1,lab2")

    assert done.code == 3
    assert any("lab2 cannot be reached from it at 203.0.113.9" in finding["found"] for finding in found)


def test_nodes_with_different_sglang_versions_are_refused(clone: Clone, linked: list[LabHost], port: int) -> None:
    shell(linked[1], "cp -r /opt/allranks-lab/venv /root/venv && cd /root/venv/lib/python3.11/site-packages && "
                     "mv sglang-0.5.23.dist-info sglang-0.5.22.dist-info")  # fmt: skip
    told = {name: entry(host.folder, host) for name, host in zip(("lab1", "lab2"), linked, strict=False)}
    clone.hosts({**told, "lab2": {**told["lab2"], "venv": "/root/venv"}}).profile("small", port, **TWO)

    done, found = check(clone, hosts="lab1,lab2")

    refused = [finding for finding in found if finding["level"] == "refusal"]
    assert done.code == 3 and "0.5.23 on lab1, 0.5.22 on lab2" in only(refused)["found"]


def test_a_host_that_is_silent_is_told_beside_the_findings_of_the_others(
    clone: Clone, linked: list[LabHost], port: int
) -> None:
    clone.profile("small", port, **TWO)
    linked[1].sshd_stop()

    done, found = check(clone, hosts="lab1,lab2")

    assert done.code == 4
    assert {finding["host"] for finding in found if finding["topic"] == "ssh"} == {"lab2"}
    assert any(f["host"] == "lab1" and f["topic"] == "sglang" for f in json.loads(done.out)["findings"])


def test_what_runs_is_held_against_the_plan_field_by_field(clone: Clone, host: LabHost, port: int) -> None:
    clone.ok("deploy", "--host", "lab", "--profile", "small")

    as_planned = clone.inv("diff", "--host", "lab", "--profile", "small", "--json")
    changed = clone.inv("diff", "--host", "lab", "--profile", "small", "--set", "tp=1", "--json")

    assert as_planned.code == 0, as_planned.said
    fields = [field for node in changed.json["nodes"] for field in node["fields"] if field["outcome"] == "different"]
    assert changed.code == 8
    assert {("settings", "tp_size"), ("argv", "--tp-size")} <= {(field["part"], field["name"]) for field in fields}
    eventually(lambda: clone.ok("teardown", "--host", "lab"))
