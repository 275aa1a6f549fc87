"""Profile + hosts -> Plan."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from roles.inventory.errors import InputError
from roles.plan.argv import argv_for, model_path, venv_of
from roles.plan.flags import refuse
from roles.plan.gpus import gpus_for, visible_devices
from roles.plan.network import between_nodes, http_ports, meeting_point, needed_ports, probe_address
from roles.plan.plan import NodePlan, Plan, Seat
from roles.plan.refuse import check
from roles.plan.script import render
from roles.plan.topology import Place, expert_parallel, places, spread, title

if TYPE_CHECKING:
    from roles.inventory.host import Host
    from roles.inventory.profile import Profile


def plan_for(profile: Profile, hosts: Sequence[Host], name: str | None = None) -> Plan:
    """The plan of a deployment: `hosts` are its nodes, node 0 first. Raises InputError for what can never start."""
    profile = spread(profile, len(hosts))
    check(profile, hosts)
    name = _name(profile, hosts, name)
    ranks = places(profile)
    here = Counter(place.node for place in ranks)
    nodes = tuple(_node(profile, hosts, node, here[node], name) for node in range(len(hosts)))
    seats = tuple(_seat(profile, nodes[place.node], place) for place in ranks)
    if profile.sglang is not None:
        refuse(nodes[0].argv, profile.sglang, profile.name)
    return Plan(
        name=name,
        profile=profile,
        nodes=nodes,
        ranks=seats,
        expected=_expected(profile, hosts[0]),
        graphs=_graphs(profile),
        hash=_hash(nodes, seats),
    )


def _node(profile: Profile, hosts: Sequence[Host], node: int, ranks_here: int, name: str) -> NodePlan:
    host = hosts[node]
    port = http_ports(profile, hosts)[node]
    gpus = gpus_for(profile, host, ranks_here)
    argv = argv_for(profile, host, port, node, meeting_point(profile, hosts))
    environment = {**profile.environment, **between_nodes(profile, host), **visible_devices(profile, gpus)}
    script = render(
        title=f"{name}, node {node} of {len(hosts)}" if len(hosts) > 1 else name,
        host=host.name,
        argv=argv,
        environment=environment,
        venv=venv_of(profile, host),
        secrets=bool(profile.secrets),
        limits=dict(profile.limits),
    )
    return NodePlan(
        node=node,
        host=host,
        argv=argv,
        environment=environment,
        secrets=dict(profile.secrets),
        script=script,
        log=profile.log,
        gpus=gpus,
        port=port,
        ports=needed_ports(profile, node, port),
        probe_address=probe_address(profile),
    )


def _seat(profile: Profile, node: NodePlan, place: Place) -> Seat:
    gpu = node.gpus[place.slot] if node.gpus else None
    return Seat(
        rank=place.rank,
        label=place.rank.label(profile.layout),
        node=place.node,
        host=node.host.name,
        gpu=gpu,
        numa=next((known.numa for known in node.host.gpus if known.index == gpu), None),
        title=title(profile, place.rank),
    )


def _name(profile: Profile, hosts: Sequence[Host], name: str | None) -> str:
    name = name or f"{profile.name}@{','.join(host.name for host in hosts)}"
    if not name.isprintable() or name != name.strip() or "/" in name or name.startswith("-"):
        raise InputError(f"{name!r} cannot name a deployment", do="use letters, digits, '.', '_', '-', '@' and ','")
    return name


def _expected(profile: Profile, host: Host) -> dict[str, object]:
    """The settings that the server must report. What SGLang rewrites by itself is not among them."""
    layout = profile.layout
    path = model_path(profile, host)
    expected: dict[str, object] = {"tp_size": layout.tp, "pp_size": layout.pp, "nnodes": layout.nnodes}
    if not profile.attention_dp:  # since 0.5.22 that reads dp_size 1, attn_dp_size N
        expected["dp_size"] = layout.dp
    if "ep" in layout.model_fields_set:
        expected["ep_size"] = expert_parallel(profile)
    served = path if profile.served_model_name is None else profile.served_model_name
    if "log_level" in profile.flags:  # warning and above hide every milestone: the watch must know
        expected["log_level"] = profile.flags["log_level"]
    return expected | {"model_path": path, "served_model_name": served, "port": profile.port}


def _graphs(profile: Profile) -> bool | None:
    if profile.graphs is not None:
        return profile.graphs
    off = profile.flags.get("disable_cuda_graph") is True or profile.flags.get("device") == "cpu"
    return False if off else None


def _hash(nodes: Sequence[NodePlan], seats: Sequence[Seat]) -> str:
    """Of everything that the hosts would do differently: not of who deploys, nor of how a host is reached."""
    content = {
        "nodes": [
            [n.node, n.host.name, n.host.workdir, n.argv, n.environment, n.secrets, n.script, n.log, n.gpus, n.ports]
            for n in nodes
        ],
        "ranks": [[s.label, s.node, s.host, s.gpu, s.title] for s in seats],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
