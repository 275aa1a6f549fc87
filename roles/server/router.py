"""The story of `inv router`: SGLang's own router as one more server, and replicas that leave it before they change."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roles.inventory import Host, Inventory
from roles.inventory.endpoint import url
from roles.inventory.errors import AllranksError, InputError, NeverUp, Refused
from roles.ledger import Ledger, Record
from roles.plan.router import GRACE, PROFILE, RouterPlan
from roles.remote import Remote
from roles.server.deployment import stop_node
from roles.server.lease import Lease, Say
from roles.server.run import new_run_id, who
from roles.server.standing import Standing, port_of

START = 90.0  # seconds until the router must be there with all of its replicas
JOIN = 60.0  # seconds until it finds a replica well that it was given
LEAVE = 20.0  # seconds until it has let go of one


@dataclass(frozen=True)
class Routed:
    """A router that is there. `workers`: what it serves; `unchanged`: it was there already."""

    plan: RouterPlan
    run: str
    workers: tuple[dict[str, Any], ...]
    unchanged: bool = False

    @property
    def missing(self) -> list[str]:
        """Replicas that it does not serve, or does not find well."""
        well = {worker["url"] for worker in self.workers if worker["healthy"]}
        return [url for url in self.plan.workers if url not in well]


def deploy_router(
    plan: RouterPlan, say: Say, ledger: Ledger, *, restart: bool = False, wait: float = 0.0, accept_new: bool = False
) -> Routed:
    """Start it, or leave one that is there as it is. Raises: Refused, NeverUp, Unreachable, AllranksError."""
    with Remote(plan.host, accept_new=accept_new) as remote, Lease("deploying", [remote], wait=wait) as lease:
        claim = {**lease.claim.request(), "deployment": plan.name, "ports": list(plan.ports), "gpus": []}
        question = {"workdir": plan.host.workdir, "ports": list(plan.ports), "gpus": False, "claim": claim}
        facts = lease.facts(lambda: [remote.one("facts", question, "facts")], say)[0]
        old = [run for run in facts["runs"] if run["deployment"] == plan.name and run.get("alive")]
        if old and old[-1].get("plan_hash") == plan.hash and old[-1].get("up") and not restart:
            answer = ask(remote, old[-1]["run"], plan.port, "add", plan.workers)
            return Routed(plan, old[-1]["run"], tuple(answer["workers"]), unchanged=True)
        lease.require()
        for run in old:
            say(f"stopping run {run['run']} of {plan.name}")
            stop_node(remote, run["run"], 0, GRACE + 5.0, lease=lease.id)
        return _started(plan, remote, lease, say, ledger)


def _started(plan: RouterPlan, remote: Remote, lease: Lease, say: Say, ledger: Ledger) -> Routed:
    began = time.time()
    run = new_run_id(PROFILE, began)
    say(f"starting run {run}")
    record = Record(run, plan.name, PROFILE, (plan.host.name,), who(), began, "loading", plan_hash=plan.hash)
    ledger.write(record)
    try:
        remote.one("start", _start_request(plan, run, lease), "started")
        say(f"waiting for it and its {len(plan.workers)} replicas")
        answer = ask(remote, run, plan.port, "wait", plan.workers, START)
        if not answer["alive"] or not answer["health"]:
            raise NeverUp(f"{plan.name} is not up: {_last_words(remote, run)}", do=f"inv logs --name {plan.name}")
    except AllranksError as error:
        ledger.close(run, "refused" if isinstance(error, Refused) else "failed", str(error), time.time())
        if isinstance(error, NeverUp):
            stop_node(remote, run, 0, 5.0, lease=lease.id)
        raise
    ledger.close(run, "up", f"up with {len(answer['workers'])} replicas", time.time())
    return Routed(plan, run, tuple(answer["workers"]))


def _start_request(plan: RouterPlan, run: str, lease: Lease) -> dict[str, Any]:
    timeouts = {"stop": GRACE + 5, "health": 5}
    told = {"deployment": plan.name, "profile": PROFILE, "hash": plan.hash, "policy": plan.policy,
            "workers": list(plan.workers), "timeouts": timeouts, "probe_address": "127.0.0.1"}  # fmt: skip
    return {
        "workdir": plan.host.workdir,
        "run": run,
        "deployment": plan.name,
        "profile": PROFILE,
        "plan_hash": plan.hash,
        "hosts": [plan.host.name],
        "who": who(),
        "from": socket.gethostname(),
        "script": plan.script,
        "plan": told,
        "port": plan.port,
        "ports": list(plan.ports),
        "lease": lease.id,
    }


def ask(remote: Remote, run: str, port: int, do: str, urls: Sequence[str], seconds: float = JOIN) -> dict[str, Any]:
    """The on-host program's answer about a router: {workers, alive, health}."""
    request = {"workdir": remote.host.workdir, "run": run, "port": port, "do": do}
    return remote.one("router", {**request, "urls": list(urls), "seconds": seconds}, "workers", timeout=seconds + 60)


def _last_words(remote: Remote, run: str) -> str:
    frames = remote.ask("log", {"workdir": remote.host.workdir, "run": run, "lines": 5})
    lines = "".join(frame["text"] for frame in frames if frame["f"] == "log").strip().splitlines()
    if any("No module named 'sglang_router'" in line or "No module named sglang_router" in line for line in lines):
        return "the Python there has no sglang-router (pip install sglang-router, or --venv PATH)"
    return lines[-1].removeprefix("allranks: ") if lines else "it ended without a word"


class Routers:
    """The routers that were made from this checkout and stand: replicas leave them before a change, and join after."""

    def __init__(
        self, inventory: Inventory, ledger: Ledger, *, accept_new: bool = False, but: Sequence[str] = ()
    ) -> None:
        self._accept_new = accept_new
        self._known: list[tuple[Record, Host]] = []
        for record in ledger.open_deployments():
            if record.profile == PROFILE and record.result == "up" and record.run not in but:
                try:
                    self._known.append((record, inventory.host(record.hosts[0])))
                except InputError:
                    continue  # its host is not in the inventory any more

    def leave(self, url: str, say: Say) -> list[str]:
        """Take a replica out of each router that has it: no new request goes there. Gives those routers' names.

        Raises: Unreachable: a router that cannot be asked may still send requests there.
        """
        return [record.deployment for record, host in self._known if self._let_go(record, host, url, say)]

    def _let_go(self, record: Record, host: Host, url: str, say: Say) -> bool:
        with Remote(host, accept_new=self._accept_new) as remote:
            port = _port(remote, record.run)
            if port is None:
                return False
            had = bool(ask(remote, record.run, port, "remove", [url], LEAVE)["had"])
            if had:
                say(f"{record.deployment}: no new requests for {url}; it finishes those it has")
            return had

    def join(self, url: str, names: Sequence[str], say: Say) -> None:
        """Put a replica that is up back into these routers, and wait until they find it well.

        Raises: AllranksError when one does not take it; the replica is up all the same.
        """
        for record, host in self._known:
            if record.deployment in names:
                with Remote(host, accept_new=self._accept_new) as remote:
                    port = _port(remote, record.run)
                    answer = ask(remote, record.run, port, "add", [url]) if port else {"workers": []}
                if not any(worker["url"] == url and worker["healthy"] for worker in answer["workers"]):
                    raise AllranksError(
                        f"{url} is up, but {record.deployment} does not serve it", do="inv router again"
                    )
                say(f"{record.deployment}: serves {url} again")


def url_of_run(run: Standing, inventory: Inventory) -> str | None:
    """Where a run's server is reached by other hosts; None for a router, or a host that is not in the inventory."""
    port = port_of(run.head)
    if run.profile == PROFILE or port is None:
        return None
    try:
        return url(inventory.host(run.hosts[0]).internal, port)
    except InputError:
        return None


def _port(remote: Remote, run: str) -> int | None:
    """Its HTTP port, None when it does not run any more."""
    found = remote.one("status", {"workdir": remote.host.workdir, "run": run}, "run")
    return int(found["port"]["port"]) if found.get("alive") and found.get("port") else None
