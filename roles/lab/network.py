"""The lab's network: a bridge with a free 10.x.0.0/16.

A guard route keeps its addresses off real interfaces, whatever becomes of the bridge.
"""

from __future__ import annotations

import ipaddress
import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from roles.inventory.errors import AllranksError
from roles.lab.commands import need, run
from roles.lab.folder import Folder

GUARD_METRIC = 4000  # worse than the bridge's own route: it counts only while the bridge is not there
PREFIX = 16
FIRST, LAST = 77, 126  # second octets tried


@dataclass(frozen=True)
class Network:
    """`enter` is the command prefix that reaches the network's namespace; empty for this machine's own."""

    octet: int
    bridge: str
    enter: tuple[str, ...] = ()

    @property
    def subnet(self) -> str:
        return f"10.{self.octet}.0.0/{PREFIX}"

    def address(self, number: int) -> str:
        """The address of host `number`, counted from 1."""
        return f"10.{self.octet}.{1 + number // 250}.{number % 250 + 1}"

    def ip(self, *arguments: str) -> str:
        return run([*self.enter, need("ip"), *arguments], why="lab network")

    def batch(self, lines: Iterable[str]) -> None:
        run([*self.enter, need("ip"), "-batch", "-"], text="\n".join(lines) + "\n", why="lab network")

    def quietly(self, *arguments: str) -> None:
        """For taking away what may be gone already."""
        subprocess.run([*self.enter, need("ip"), *arguments], capture_output=True, check=False)

    def has_link(self, name: str) -> bool:
        argv = [*self.enter, need("ip"), "link", "show", "dev", name]
        return subprocess.run(argv, capture_output=True, check=False).returncode == 0

    def claim(self) -> None:
        """Add the guard. Raises: AllranksError with "File exists" when another lab has done it."""
        self.ip("route", "add", "unreachable", self.subnet, "metric", str(GUARD_METRIC))

    def make(self) -> None:
        """Bridge and guard; what is there already is kept."""
        if not self._guarded():
            self.claim()
        if not self.has_link(self.bridge):
            self.batch(
                [
                    f"link add {self.bridge} type bridge",
                    f"addr add 10.{self.octet}.0.1/{PREFIX} dev {self.bridge}",
                    "link set lo up",
                    f"link set {self.bridge} up",
                ]
            )

    def take_away(self) -> None:
        self.quietly("link", "del", self.bridge)
        self.quietly("route", "del", "unreachable", self.subnet, "metric", str(GUARD_METRIC))

    def _guarded(self) -> bool:
        return f"unreachable {self.subnet} " in self.ip("route", "show", "type", "unreachable") + " "

    def hardware_address(self, number: int) -> str:
        """Host `number`'s own, the same at every boot: others remember it for a while after a crash."""
        parts = bytes.fromhex(self.bridge[2:]) + number.to_bytes(2, "big")
        return ":".join(["02", *(f"{part:02x}" for part in parts)])

    def attach(self, links: Sequence[tuple[str, int, int]]) -> None:
        """For each (link, host number, pid): a link from the bridge to eth0 in the network namespace of pid."""
        lines: list[str] = []
        for link, number, pid in links:
            self.quietly("link", "del", link)
            lines += [
                f"link add {link} type veth peer name eth0 address {self.hardware_address(number)} netns {pid}",
                f"link set {link} master {self.bridge} up",
            ]
        self.batch(lines)


def choose(folder: Folder, enter: tuple[str, ...] = ()) -> Network:
    """Make a network on a subnet that nothing here uses. The guard route is the claim: adding it twice fails."""
    _forget_leftover(folder, enter)
    trouble = "none was free"
    for octet in range(FIRST, LAST + 1):
        network = Network(octet, folder.bridge, enter)
        if _used(network):
            continue
        try:
            network.claim()
            network.make()
        except AllranksError as error:
            trouble = str(error)
            if "File exists" in trouble:  # another lab was quicker; the guard is its own, so it stays
                continue
            network.take_away()
            raise
        return network
    raise AllranksError(f"lab network: no free subnet between 10.{FIRST}.0.0/16 and 10.{LAST}.0.0/16 ({trouble})")


def _forget_leftover(folder: Folder, enter: tuple[str, ...]) -> None:
    """A bridge of this lab's name when there is no lab: its folder was removed while it was up."""
    there = Network(0, folder.bridge, enter)
    if there.has_link(folder.bridge):
        (link,) = json.loads(there.ip("-json", "-4", "address", "show", "dev", folder.bridge))
        octets = {int(address["local"].split(".")[1]) for address in link["addr_info"]}
        for octet in octets or {0}:
            replace(there, octet=octet).take_away()


def _used(network: Network) -> bool:
    wanted = ipaddress.ip_network(network.subnet)
    routes = json.loads(network.ip("-json", "-4", "route", "show", "table", "all") or "[]")
    targets = [route.get("dst", "default") for route in routes]
    return any(wanted.overlaps(ipaddress.ip_network(target, strict=False)) for target in targets if target != "default")
