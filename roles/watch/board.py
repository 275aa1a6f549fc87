"""The state of every expected rank and node of a run, as a frozen value. How frames change it: fold.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from roles.inventory.rank import Axes as Layout
from roles.inventory.rank import Rank
from roles.watch.evidence import Block, Evidence
from roles.watch.spellings import Kind
from roles.watch.states import Answer, NodeState, RankState


class SeatLike(Protocol):
    """What a plan says of one expected rank."""

    @property
    def rank(self) -> Rank: ...
    @property
    def label(self) -> str: ...
    @property
    def node(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def gpu(self) -> int | None: ...
    @property
    def title(self) -> str: ...


@dataclass(frozen=True)
class Board:
    """Everything known of one run."""

    ranks: Mapping[Rank, RankState]
    nodes: Mapping[int, NodeState]
    sizes: Mapping[str, int]  # TP, PP, DP
    expected: Mapping[str, Any]
    graphs: bool | None
    port: int | None
    http: bool = True  # whether it is to answer HTTP (False: only a log is read)
    quiet: bool = False  # its log level hides all milestones: processes and HTTP must do
    stalls: Mapping[str, float] = field(default_factory=dict)  # seconds by stage, where it has a limit of its own
    started: float | None = None
    latest: float = 0.0  # time of the newest frame
    up_at: float | None = None
    bound_at: float | None = None
    bound_port: int | None = None  # where node 0 said that it listens
    ready_at: float | None = None
    stopping_at: float | None = None
    shards: tuple[int, int] | None = None  # weight files loaded, of: world rank 0 alone draws this bar
    health: Answer | None = None
    generation: Answer | None = None
    settings: Mapping[str, Any] | None = None
    version: str | None = None
    evidence: tuple[Evidence, ...] = ()
    blocks: tuple[Block, ...] = ()
    imports: Mapping[str, str] = field(default_factory=dict)  # modules of models that could not be imported, and why

    @property
    def elsewhere(self) -> bool:
        """Whether node 0 listens on another port than was asked."""
        return self.http and None not in (self.bound_port, self.port) and self.bound_port != self.port

    @property
    def captures(self) -> bool:
        """Whether a rank is done only after capturing graphs: they are expected, or some rank has begun to."""
        return self.graphs is True or any(Kind.CAPTURE_BEGIN in state.reached for state in self.ranks.values())

    @property
    def last_milestone(self) -> Kind:
        """What every rank prints last."""
        return Kind.CAPTURE_END if self.captures else Kind.POOL_END


def expect(
    seats: Sequence[SeatLike],
    *,
    layout: Layout,
    nnodes: int = 1,
    expected: Mapping[str, Any] | None = None,
    graphs: bool | None = None,
    hosts: Sequence[str] = (),
    port: int | None = None,
    http: bool = True,
    started: float | None = None,
    up_at: float | None = None,
    stalls: Mapping[str, float] | None = None,
) -> Board:
    """The board of a run from which nothing has been heard yet. `up_at`: it was confirmed up then."""
    names = {seat.node: seat.host for seat in seats} | dict(enumerate(hosts))
    wanted = dict(expected or {})
    return Board(
        ranks={s.rank: RankState(s.rank, s.label, s.node, s.host, s.gpu, s.title) for s in seats},
        nodes={node: NodeState(node, names.get(node, f"node {node}")) for node in range(nnodes)},
        sizes={"TP": layout.tp, "PP": layout.pp, "DP": layout.dp},
        expected=wanted,
        graphs=graphs,
        port=port,
        http=http,
        quiet=str(wanted.get("log_level", "info")).lower() in ("warning", "error", "critical"),
        stalls=dict(stalls or {}),
        started=started,
        up_at=up_at,
    )
