"""Clone → the paths and names of its lab. Everything a lab writes lies beneath one folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent  # `python -m inside.init` is run from here


@dataclass(frozen=True)
class Folder:
    """The lab of the clone at `root`. `opt` is its SGLang install; another clone's may be borrowed."""

    root: Path
    opt: Path

    @staticmethod
    def of(root: Path, opt: Path | None = None) -> Folder:
        resolved = root.resolve()
        return Folder(resolved, opt.resolve() if opt else resolved / ".lab/opt")

    @property
    def path(self) -> Path:
        return self.root / ".lab"

    @property
    def tag(self) -> str:
        """Six characters that tell this clone's links from another's: a link's name has room for 15."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:6]

    @property
    def bridge(self) -> str:
        return f"ar{self.tag}"

    def link(self, number: int) -> str:
        """The outer end of a host's network link."""
        return f"ar{self.tag}-{number}"

    def host(self, name: str) -> Path:
        return self.path / "hosts" / name

    @property
    def layers(self) -> Path:
        """Overlay layers: a tmpfs, since an upper layer may not lie inside its own lower layer `/`."""
        return self.path / "layers"

    @property
    def state(self) -> Path:
        return self.path / "lab.json"

    @property
    def key(self) -> Path:
        return self.path / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.path / "known_hosts"

    @property
    def inventory(self) -> Path:
        return self.path / "hosts.yml"

    @property
    def ssh_config(self) -> Path:
        return self.path / "ssh_config"
