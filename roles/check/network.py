"""The network: proxies that catch the server's own requests; between nodes names, interfaces and ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from roles.check.finding import Finding, Node

INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")


def look(node: Node) -> Iterator[Finding]:
    """Everything about the network."""
    software, nics = node.look("software"), node.look("nics")
    found = list(_proxies(node, software.get("proxies") or {}))
    if len(node.plan.nodes) > 1 and nics:
        found += [*_interface(node, nics), *_hostname(node, nics), *_peers(node, nics)]
    yield from found
    if not found and software:
        others = [other.host.name for other in node.plan.nodes if other.node != node.node.node]
        reached = f", {', '.join(others)} reached" if others else ""
        yield node.ok("network", f"no proxy in the way of the server's own requests{reached}")


def _proxies(node: Node, proxies: Mapping[str, str]) -> Iterator[Finding]:
    """SGLang asks itself over HTTP before it says it is ready: a proxy that catches that ends it."""
    caught = [name for name in ("http_proxy", "all_proxy") if proxies.get(name)]
    if not caught:
        return
    needed = needed_around(node)
    if not needed:
        return
    what = f"{caught[0]} is {proxies[caught[0]]} and no_proxy does not name {' and '.join(sorted(needed))}"
    listed = ",".join(sorted({*around(node), *needed}))
    do = f"inv check --fix, or set environment.no_proxy: {listed} (SGLang's first request to itself goes to the proxy)"
    yield node.warning("proxy", what, do)


def around(node: Node) -> set[str]:
    """What goes around the proxies: no_proxy as the server would have it."""
    listed = (node.look("software").get("proxies") or {}).get("no_proxy", "")
    return {part.strip() for part in listed.split(",") if part.strip()}


def needed_around(node: Node) -> set[str]:
    """The addresses of the server itself that no_proxy should name and does not; none where there is no proxy."""
    proxies = node.look("software").get("proxies") or {}
    there = {part.lstrip(".") for part in around(node)}
    if "*" in there or not (proxies.get("http_proxy") or proxies.get("all_proxy")):
        return set()
    return {"127.0.0.1", "localhost", *({node.plan.profile.host} - {"0.0.0.0", "::"})} - there


def _interface(node: Node, nics: Mapping[str, Any]) -> Iterator[Finding]:
    environment, there = node.node.environment, nics["interfaces"]
    for name in dict.fromkeys(environment[key] for key in INTERFACES if environment.get(key)):
        if name.startswith(("=", "^")) or "," in name or any(each.startswith(name) for each in there if each != name):
            continue  # NCCL's own patterns and prefixes
        if name not in there:
            what = f"there is no network interface {name}"
            yield node.refusal("interface", what, f"correct `interface` in the inventory: it has {', '.join(there)}")
        elif there[name]["state"] == "down" or not there[name]["address"]:
            address = there[name]["address"] or "no address"
            what = f"the network interface {name} is {there[name]['state']} and has {address}"
            yield node.refusal("interface", what, "bring it up, or name another in `interface`")
    mine = {address for each in there.values() for address in each.get("addresses") or [each["address"]]}
    means = nics.get("internal_means") or []
    if means and not mine & set(means) and not all(map(_loops, means)):
        what = f"none of its interfaces has its internal address {node.node.host.internal} ({', '.join(means)})"
        yield node.warning("interface", what, "correct `internal` in the inventory, unless addresses are translated")


def _hostname(node: Node, nics: Mapping[str, Any]) -> Iterator[Finding]:
    means = nics.get("hostname_means") or []
    if all(node.node.environment.get(key) for key in INTERFACES):
        return
    if not means or any(map(_loops, means)):
        where = ", ".join(means) or "nothing"
        what = f"its name {nics.get('hostname')} means {where} there, and Gloo and NCCL would tell the others that"
        yield node.refusal("hostname", what, "set `interface` of this host in the inventory, or correct /etc/hosts")


def _peers(node: Node, nics: Mapping[str, Any]) -> Iterator[Finding]:
    for name, answer in (nics.get("peers") or {}).items():
        address = next(other.host.internal for other in node.plan.nodes if other.host.name == name)
        if answer is None or not answer["reached"]:
            why = answer["error"] if answer else "no answer"
            what = f"{name} cannot be reached from it at {address}: {why}"
            yield node.refusal("peers", what, "correct `internal` in the inventory, the route or the firewall")


def _loops(address: str) -> bool:
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
