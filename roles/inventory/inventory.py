"""The inventory of a repository: its hosts, groups and profiles by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from roles.inventory.document import Document
from roles.inventory.errors import InputError
from roles.inventory.files import read_hosts, read_profile
from roles.inventory.groups import check_groups, members
from roles.inventory.host import Host
from roles.inventory.nearest import did_you_mean, listed
from roles.inventory.profile import Profile
from roles.inventory.routes import with_routes

HOSTS = Path("inventory/hosts.yml")
LAB_HOSTS = Path(".lab/hosts.yml")  # written by `inv lab.up`, gone after `inv lab.down`
PROFILES = Path("inventory/profiles")


@dataclass(frozen=True)
class Inventory:
    """Hosts and groups as read; profiles are read when they are asked for."""

    root: Path
    by_name: Mapping[str, Host]
    groups: Mapping[str, tuple[str, ...]]

    @cached_property
    def profiles(self) -> tuple[str, ...]:
        """The names of the profiles there are."""
        return tuple(sorted(file.stem for file in (self.root / PROFILES).glob("*.yml")))

    def host(self, name: str) -> Host:
        """One host by its name, or by the name of a group of one."""
        found = self.hosts(name)
        if len(found) != 1:
            names = listed(host.name for host in found)
            raise InputError(f"{name} is {len(found)} hosts ({names})", do="name one of them")
        return found[0]

    def hosts(self, names: str) -> tuple[Host, ...]:
        """`a,b,group` -> hosts, in that order, each once; a second name for the very same host is not another one."""
        wanted = [name.strip() for name in names.split(",") if name.strip()]
        if not wanted:
            raise InputError("no host given", do=f"known: {self._known_hosts()}")
        found: dict[Host, Host] = {}  # all of a host but its name -> the host by the name that came first
        for host in (self.by_name[each] for name in wanted for each in self._expand(name)):
            found.setdefault(host.model_copy(update={"name": ""}), host)
        return tuple(found.values())

    def profile(self, name: str, overrides: Sequence[str] = ()) -> Profile:
        """A profile by its name, with `key=value` overrides."""
        if name not in self.profiles:
            bare = Path(name).name.removesuffix(".yml").removesuffix(".yaml")
            near = did_you_mean(bare, self.profiles) if name else ""
            known = f"known: {listed(self.profiles)}"
            found = f"no profile {name!r} in {PROFILES}{near}" if name else "no profile given"
            raise InputError(found, do=known)
        file = PROFILES / f"{name}.yml"
        return read_profile(self.root / file, str(file), overrides)

    def _expand(self, name: str) -> tuple[str, ...]:
        for host in (found := members(name, self.groups)):
            if host not in self.by_name:
                where = f" (in group {name})" if host != name else ""
                near = did_you_mean(host, [*self.by_name, *self.groups])
                do = "inv lab.up" if host.startswith("lab") else f"known: {self._known_hosts()}"
                raise InputError(f"no host {host!r}{where} in {HOSTS}{near}", do=do)
        if not found:
            raise InputError(f"group {name} has no hosts")
        return found

    def _known_hosts(self) -> str:
        return listed([*self.by_name, *self.groups])


def load(root: Path) -> Inventory:
    """Read root/inventory/hosts.yml and the lab's hosts, whichever there is."""
    hosts: dict[str, Host] = {}
    groups: dict[str, tuple[str, ...]] = {}
    sources: dict[str, Document] = {}
    documents = []
    files = [file for file in (HOSTS, LAB_HOSTS) if (root / file).exists()]
    if not files:
        raise InputError(f"{HOSTS}: no such file", do="write your hosts into it (docs/inventory.md), or inv lab.up")
    for file in files:
        content, document = read_hosts(root / file, str(file))
        documents.append(document)
        for section, names in (("hosts", content.hosts), ("groups", content.groups)):
            for name in names:
                _only_once(name, section, document, sources)
        hosts |= content.hosts
        groups |= content.groups
    routed = with_routes(hosts, sources, root)
    check_groups(groups, hosts, sources)
    for document in documents:
        document.settle()
    return Inventory(root, routed, groups)


def _only_once(name: str, section: str, document: Document, sources: dict[str, Document]) -> None:
    """Note a name that a host or a group has already, in this file or the other."""
    path = (section, name)
    if name in sources:
        earlier = sources[name]
        first = earlier.place(("hosts", name) if ("hosts", name) in earlier.places else ("groups", name))
        document.problem(path, f"the name is taken already at {first}; hosts and groups share their names")
    sources.setdefault(name, document)
