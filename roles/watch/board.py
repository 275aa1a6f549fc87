"""The state of every expected rank and node, as a frozen value. How frames change it: fold.py."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from roles.inventory.rank import Axes as Layout
from roles.inventory.rank import Rank
from roles.watch.evidence import Block, Evidence
from roles.watch.spellings import Kind


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


class Stage(enum.Enum):
    """Where a rank is. `ready` = it has printed its last milestone: nothing more is known of it by the log."""

    WAITING = "waiting"
    STARTING = "starting"
    DISTRIBUTED = "distributed"
    LOADING = "loading"
    LOADED = "loaded"
    MEMORY = "memory"
    CAPTURING = "capturing"
    READY = "ready"
    DEAD = "dead"


@dataclass(frozen=True)
class RankState:
    """One expected rank. Times are epoch seconds of the caller's clock, memory is MiB."""

    rank: Rank
    label: str
    node: int
    host: str
    gpu: int | None
    title: str
    stage: Stage = Stage.WAITING
    milestone: str = ""  # the last one it printed, in words
    since: float | None = None  # when it printed it
    reached: Mapping[Kind, float] = field(default_factory=dict)
    captures: int = 0  # graph captures begun and not ended
    memory_mib: int | None = None  # used on its GPU, else resident memory of its process
    pid: int | None = None
    alive: bool | None = None  # None: no process seen yet
    state: str = ""  # the kernel's letter: R, S, D, T (stopped), Z
    cpu_s: float = 0.0
    progress: tuple[int, int] | None = None  # graphs captured, of
    moved: float | None = None  # last sign of progress
    died: float | None = None
    died_in: Stage = Stage.WAITING
    orphaned: bool = False  # main of its node was dead already when its death was seen
    signal: int | None = None  # what ended it, when the log says so
    exit_code: int | None = None


@dataclass(frozen=True)
class NodeState:
    """One node of the deployment: main, its helpers, its connection."""

    node: int
    host: str
    main: int | None = None  # pid
    main_alive: bool | None = None
    main_died: float | None = None
    detokenizer: bool | None = None
    exited: bool = False
    exit_code: int | None = None
    signal: int | None = None
    connected: bool = True
    lost_at: float | None = None
    why: str = ""
    holder: Mapping[str, Any] | None = None  # of the HTTP port: pid, cmdline, user, ours
    utc_offset: float | None = None  # seconds; with it the log's local stamps become epoch seconds
    skew: float = 0.0  # seconds this host's clock is ahead of the caller's
    dummy: float | None = None  # nodes above 0: when it said that its ranks are ready
    moved: float | None = None
    compiling: str = ""  # a compiler running below it, by name
    strangers: frozenset[str] = frozenset()  # ranks in its log that the plan does not have


@dataclass(frozen=True)
class Answer:
    """What the server answered over HTTP, to a health request or a generation."""

    status: int | None
    at: float
    text: str = ""
    error: str = ""
    seconds: float | None = None


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
    started: float | None = None
    latest: float = 0.0  # time of the newest frame
    up_at: float | None = None
    bound_at: float | None = None
    ready_at: float | None = None
    stopping_at: float | None = None
    shards: tuple[int, int] | None = None  # weight files loaded, of: world rank 0 alone draws this bar
    health: Answer | None = None
    generation: Answer | None = None
    settings: Mapping[str, Any] | None = None
    version: str | None = None
    evidence: tuple[Evidence, ...] = ()
    blocks: tuple[Block, ...] = ()

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
        started=started,
        up_at=up_at,
    )
