"""Hosts with IPv6 alone and a port that is not 22: reached, checked, deployed to, and spelled with brackets."""

from __future__ import annotations

from pathlib import Path

import pytest

from roles.lab.host import LabHost
from roles.lab.written import entry
from tests.hosts import seen, six
from tests.hosts.clone import Clone

pytestmark = pytest.mark.hosts


def test_two_nodes_meet_over_ipv6_and_every_address_is_spelled_with_brackets(
    clone: Clone, linked: list[LabHost], port: int, tmp_path: Path
) -> None:
    two = linked[:2]
    clone.profile("pair", port, layout={"tp": 2, "pp": 2, "nnodes": 2}, dist_port=port + 200, host="::")
    with six.only_six(two, tmp_path) as ways:
        clone.hosts({host.name: {**entry(host.folder, host), **ways[host.name]} for host in two})
        found = clone.inv("check", "--host", "lab1,lab2", "--profile", "pair", "--json")
        up = clone.ok("deploy", "--host", "lab1,lab2", "--profile", "pair", "--json").json
        plan = clone.ok("show", "--host", "lab1,lab2", "--profile", "pair", "--json").json
        status = clone.ok("status", "--json").json["deployments"]
        clone.ok("teardown")
        assert [seen.servers(host) for host in two] == [[], []]
        two[1].exec(["sh", "-c", "kill $(cat /run/second.pid)"])
        down = clone.inv("check", "--host", "lab2", "--profile", "pair", "--set", "nnodes=1")

    assert found.code == 0 and [f for f in found.json["findings"] if f["level"] != "ok"] == [], found.said
    assert up["url"] == f"http://[{six.address(two[0])}]:{port}"
    assert f"[{six.address(two[0])}]:{port + 200}" in str(plan)
    assert (status[0]["state"], status[0]["living"]) == ("up", 4)
    assert f"[{six.address(two[1])}]:2222 refused the connection" in down.said


def test_an_unknown_key_of_an_ipv6_host_is_refused_and_written_down_when_accepted(
    clone: Clone, linked: list[LabHost], port: int, tmp_path: Path
) -> None:
    host = linked[0]
    with six.only_six([host], tmp_path) as ways:
        known = tmp_path / "empty"
        clone.hosts({"lab1": {**entry(host.folder, host), **ways["lab1"], "known_hosts": str(known)}})

        refused = clone.inv("status", "--host", "lab1")
        accepted = clone.inv("status", "--host", "lab1", "--accept-new-host-key")
        again = clone.inv("status", "--host", "lab1")

    assert refused.code == 4 and "its host key" in refused.said and f"`ssh {six.address(host)}`" in refused.said
    assert (accepted.code, again.code) == (0, 0), accepted.said
    assert known.read_text().startswith(f"[{six.address(host)}]:2222 ssh-ed25519 ")
