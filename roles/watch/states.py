"""What is known of one rank, one node, one answer over HTTP. Frozen values; how they change: fold.py."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roles.inventory.rank import Rank
from roles.watch.spellings import Kind

DEAD = frozenset("ZXx")  # the kernel's letters for a process that has ended


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
    read_bytes: int = 0  # by its process, at the last sign of progress
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
    rebooted: bool = False  # its host was restarted meanwhile
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
    cpu_s: float = 0.0  # of all its processes together, at the last sign of progress
    last: tuple[str, ...] = ()  # its last lines that are neither noise nor steady
    compiling: str = ""  # a compiler running below it, by name
    compiled: Mapping[int, float] = field(
        default_factory=dict
    )  # CPU seconds of compilers by pid, at their last progress
    full: str = ""  # path of its log, while the file system below that is full
    given: Mapping[str, Any] | None = None  # what main was started with: argv, environ, secrets
    strangers: frozenset[str] = frozenset()  # ranks in its log that the plan does not have


@dataclass(frozen=True)
class Answer:
    """What the server answered over HTTP, to a health request or a generation."""

    status: int | None
    at: float
    text: str = ""
    error: str = ""
    seconds: float | None = None
