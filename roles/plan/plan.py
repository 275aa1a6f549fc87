"""A plan: everything a deployment will be, as one frozen value. It is printed by `show` and carried out by `deploy`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roles.inventory.rank import Rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roles.inventory.host import Host
    from roles.inventory.profile import Profile


@dataclass(frozen=True)
class Seat:
    """Where one rank sits, and the title its process will have."""

    rank: Rank
    label: str  # PP0 TP1, as the log says it
    node: int
    host: str
    gpu: int | None  # index as nvidia-smi counts; None on a host whose GPUs are not written down, or on a CPU
    numa: int | None
    title: str  # sglang::scheduler_PP0_TP1


@dataclass(frozen=True)
class NodePlan:
    """What one host of the deployment gets."""

    node: int
    host: Host
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    secrets: Mapping[str, str]  # variable -> env:NAME or file:PATH, never a secret itself
    script: str
    log: str | None  # where a link to the run's log is put
    gpus: tuple[int, ...]
    port: int  # HTTP on node 0; on the others SGLang's own health answer
    ports: tuple[int, ...]  # these must be free before the start
    probe_address: str  # where the HTTP server is reached from its own host


@dataclass(frozen=True)
class Plan:
    """A profile on hosts."""

    name: str
    profile: Profile
    nodes: tuple[NodePlan, ...]
    ranks: tuple[Seat, ...]
    expected: Mapping[str, object]  # the effective settings the server must report
    graphs: bool | None  # whether ranks capture CUDA graphs; None: the log will tell
    hash: str  # the same for the same content, whoever plans it and when

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of its hosts, node 0 first."""
        return tuple(node.host.name for node in self.nodes)
