"""What runs on the hosts, as the hosts tell it: run summaries of single nodes -> whole deployments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from roles.remote import Outcome, Remote, each
from roles.remote.fleet import PARALLEL

Summary = dict[str, Any]

PATIENCE = 40.0  # seconds: /health alone may take 25


@dataclass(frozen=True)
class Standing:
    """One run of a deployment as found on its hosts. `nodes`: what each host that answered says of its node."""

    run: str
    deployment: str
    profile: str
    hosts: tuple[str, ...]
    nodes: dict[int, tuple[str, Summary]] = field(default_factory=dict)  # node -> (host, summary)
    heard: frozenset[str] = frozenset()  # hosts that answered, whether or not they know of it

    @property
    def head(self) -> Summary:
        """The summary of node 0, or of the lowest node that answered."""
        return self.nodes[min(self.nodes)][1]

    @property
    def started(self) -> float:
        """When it was started (epoch seconds, the head node's clock)."""
        return float(self.head.get("started") or 0.0)

    @property
    def up(self) -> float | None:
        """When it was confirmed up, or None."""
        return self.head.get("up")

    @property
    def alive(self) -> bool:
        """Whether anything of it still runs on a host that answered."""
        return any(summary.get("alive") for _, summary in self.nodes.values())

    @property
    def silent(self) -> list[str]:
        """Hosts of the run that did not answer."""
        return [host for host in self._missing if host not in self.heard]

    @property
    def over(self) -> list[str]:
        """Hosts of the run that answered and have nothing of it any more: their part was stopped."""
        return [host for host in self._missing if host in self.heard]

    @property
    def _missing(self) -> list[str]:
        # by node, not by name: a host may have been asked under another name of it
        return [host for node, host in enumerate(self.hosts) if node not in self.nodes]


def port_of(summary: Summary) -> int | None:
    """The HTTP port that a node's server was told to listen on."""
    return (summary.get("port") or {}).get("port")


def holder_of(summary: Summary) -> Summary | None:
    """The process that holds that port now ({pid, cmdline, user, ours}), None when it is free."""
    return (summary.get("port") or {}).get("holder")


def ask(
    remotes: Sequence[Remote],
    *,
    health: bool = False,
    ended: bool = False,
    parallel: int = PARALLEL,
    patience: float = PATIENCE,
) -> list[Outcome[Remote, list[Summary]]]:
    """Every host's runs. `health`: also asks each server for /health; `ended`: also the stopped runs.

    `parallel`: so many hosts at once; `patience`: seconds without a word after which a host counts as silent.
    """

    def one(remote: Remote) -> list[Summary]:
        request = {"workdir": remote.host.workdir, "health": health, "gpus": health, "all": ended}
        return [frame for frame in remote.ask("status", request, timeout=patience) if frame["f"] == "run"]

    return each(remotes, one, parallel=parallel)


def gather(found: Iterable[tuple[str, Summary]], heard: Iterable[str] = ()) -> list[Standing]:
    """(host, summary) pairs -> whole runs, newest last. `heard`: the hosts that answered."""
    standings: dict[str, Standing] = {}
    answered = frozenset(heard)
    for host, summary in found:
        run, deployment, profile = (summary[key] for key in ("run", "deployment", "profile"))
        of = tuple(summary.get("hosts") or (host,))
        standing = standings.setdefault(run, Standing(run, deployment, profile, of, heard=answered))
        standing.nodes[int(summary.get("node") or 0)] = (host, summary)
    return sorted(standings.values(), key=lambda standing: (standing.started, standing.run))
