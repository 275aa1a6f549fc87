"""The hosts' witnesses -> cases: whole deployments, and servers that allranks never started. Only looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roles.inventory import Inventory
from roles.inventory.errors import AllranksError, InputError
from roles.remote import Frame, Remote, each, reach
from roles.watch.case import Case
from roles.watch.witness import Witness

PATIENCE = 90.0  # seconds without a frame; nvidia-smi alone may take many


@dataclass
class Rounds:
    """What was found on a round through hosts; hosts that a deployment spans beyond those given are added."""

    found: list[Witness] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    silent: dict[str, AllranksError] = field(default_factory=dict)

    def visit(self, remotes: Sequence[Remote], *, foreign: bool) -> None:
        """Look at these hosts, all at once."""
        for outcome in each(remotes, lambda remote: look(remote, foreign=foreign)):
            name = outcome.item.host.name
            self.asked.add(name)
            if isinstance(outcome.error, AllranksError):
                self.silent[name] = outcome.error
            self.found += outcome.value or []

    def cases(self, name: str | None = None) -> list[Case]:
        """Ours by run, newest last, then the strangers'; `name`: only this deployment, or run by its beginning."""
        runs: dict[str, list[Witness]] = {}
        for witness in self.found:
            if run := witness.told.get("run"):
                runs.setdefault(str(run), []).append(witness)
        wanted = [of for run, of in sorted(runs.items()) if _is_meant(name, run, of)]
        ours = [self._case(str(of[0].told["deployment"]), of) for of in wanted]
        others = [w for w in self.found if not w.told.get("run")] if not name else []
        return ours + [Case(_described(witness), (witness,)) for witness in others]

    def beyond(self) -> list[str]:
        """Hosts that a run found here spans and that were not asked yet."""
        spanned = {host: None for witness in self.found for host in witness.told.get("hosts") or ()}
        return [host for host in spanned if host not in self.asked]

    def _case(self, name: str, nodes: Iterable[Witness]) -> Case:
        nodes = sorted(nodes, key=lambda witness: witness.node)
        hosts = nodes[0].told.get("hosts") or ()
        return Case(name, tuple(nodes), {host: str(self.silent[host]) for host in hosts if host in self.silent})


def examine(inventory: Inventory, names: Sequence[str], *, accept_new: bool, foreign: bool = True) -> Rounds:
    """Visit these hosts, and those that their deployments span beyond them."""
    rounds, waiting = Rounds(), list(names)
    while waiting:
        remotes = []
        for name in waiting:
            try:
                remotes.append(reach(inventory.host(name), accept_new=accept_new))
            except InputError as error:
                rounds.silent[name] = error
                rounds.asked.add(name)
        try:
            rounds.visit(remotes, foreign=foreign)
        finally:
            for remote in remotes:
                remote.close()
        waiting = rounds.beyond()
    return rounds


def look(remote: Remote, *, run: str | None = None, foreign: bool = False, quick: bool = False) -> list[Witness]:
    """One host's servers, as its `look` tells them; with `run` only this one, without its log, health not asked.

    `quick`: the processes are not measured, nvidia-smi is not asked. Raises: Unreachable, AllranksError.
    """
    request: dict[str, Any] = {"workdir": remote.host.workdir, "foreign": foreign}
    if run is not None:
        request |= {"run": run, "log": False, "health": False}
    if quick:
        request |= {"moment": 0, "gpus": False}
    return witnesses(remote.host.name, remote.ask("look", request, timeout=PATIENCE))


def witnesses(host: str, frames: Sequence[Frame]) -> list[Witness]:
    """The frames of one `look` -> one witness a server."""
    about: Mapping[str, Any] = next((frame for frame in frames if frame["f"] == "host"), {})
    logs: dict[int, list[str]] = {}
    for frame in frames:
        if frame["f"] == "log":
            logs.setdefault(int(frame["of"]), []).append(str(frame["text"]))
    return [
        Witness(host, {key: value for key, value in frame.items() if key not in ("f", "t")}, about,
                "".join(logs.get(int(frame["of"]), ())))
        for frame in frames
        if frame["f"] == "witness"
    ]  # fmt: skip


def _is_meant(name: str | None, run: str, nodes: Sequence[Witness]) -> bool:
    return not name or name == nodes[0].told.get("deployment") or run.startswith(name)


def _described(witness: Witness) -> str:
    told = witness.told
    pid = told.get("main") or next((row["pid"] for row in witness.rows), "gone")
    return f"server of {told.get('user')} on {witness.host} (pid {pid})"
