"""A plan and an open line to each of its hosts: the domain verbs that the stories are told in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roles.check import Facts, question
from roles.inventory.errors import AllranksError, Unreachable
from roles.plan import NodePlan, Plan
from roles.remote import Outcome, Remote, each, reach
from roles.server.lease import Claim, Lease
from roles.server.run import Run
from roles.server.standing import Standing, gather

AFTER_A_LOSS = 10.0  # seconds in which what is left of a lost run may end by itself: there is nothing to drain
PATIENCE = 180.0  # seconds for the facts: from a cold disk SGLang's parser alone may take two minutes


class Deployment:
    """A profile on hosts. Closing it drops the connections and touches nothing that runs."""

    def __init__(self, plan: Plan, *, accept_new: bool = False, wait: float = 0.0) -> None:
        self.plan = plan
        self.remotes = [reach(node.host, accept_new=accept_new) for node in plan.nodes]
        self.lease = Lease("deploying", self.remotes, wait=wait)

    def __enter__(self) -> Deployment:
        return self

    def __exit__(self, *_: object) -> None:
        self.lease.drop()
        for remote in self.remotes:
            remote.close()

    def _each(self, job: Any) -> list[Outcome[tuple[Remote, NodePlan], Any]]:
        return each(list(zip(self.remotes, self.plan.nodes, strict=True)), lambda pair: job(*pair))

    def facts(self) -> list[Facts]:
        """One question to each host. Raises: Unreachable naming every host that did not answer."""
        return _all(self.ask(claim=True))

    def ask(self, *, claim: bool = False) -> list[Outcome[tuple[Remote, NodePlan], Facts]]:
        """The same, with each host's answer or error. `claim`: take the lease with it."""

        def one(remote: Remote, node: NodePlan) -> Facts:
            path = str(self.plan.expected["model_path"])
            request = {
                "workdir": node.host.workdir,
                "ports": list(node.ports),
                "venv": self.plan.profile.venv or node.host.venv,
                "python": node.argv[0],
                "pythonpath": node.environment.get("PYTHONPATH"),
                "models": [path] if path.startswith("/") else [],
                "claim": self.lease.claim.of(self.plan.name, node) if claim else None,
                "look": question(self.plan, node),
            }
            facts = remote.one("facts", request, "facts", timeout=PATIENCE)
            return {**facts, "shell_noise": remote.shell_noise}

        return self._each(one)

    def standing(self, facts: Sequence[Facts]) -> list[Standing]:
        """The runs that the facts of each host told of."""
        return gather(
            (node.host.name, summary)
            for node, fact in zip(self.plan.nodes, facts, strict=True)
            for summary in fact.get("runs") or []
        )

    def runs(self, outcomes: Sequence[Outcome[Any, Facts]]) -> list[Standing]:
        """The same, of the hosts that answered."""
        answered = [(node, o.value) for node, o in zip(self.plan.nodes, outcomes, strict=True) if o.value is not None]
        return gather((node.host.name, summary) for node, fact in answered for summary in fact.get("runs") or [])

    def start(self, run: Run, values: dict[str, str]) -> None:
        """Start every node at once. When one fails, those that started are stopped again, and all failures are told."""

        def one(remote: Remote, node: NodePlan) -> Any:
            wanted = {name: values[name] for name in node.secrets}
            return remote.one("start", {**run.start_request(node, wanted), "lease": self.lease.id}, "started")

        outcomes = self._each(one)
        if any(outcome.error for outcome in outcomes):
            started = [outcome.item for outcome in outcomes if outcome.error is None]
            left = self.stop(run.id, [node.node for _, node in started])
            _all(outcomes, after=left)

    def stop(self, run: str, nodes: Sequence[int] | None = None, *, lost: bool = False) -> list[str]:
        """Stop this run's processes, node 0 first and alone. Gives one line for each host where that failed.

        `lost`: it serves nobody any more, so it gets seconds to end and not the profile's time to drain.
        """
        chosen = [
            (r, n) for r, n in zip(self.remotes, self.plan.nodes, strict=True) if nodes is None or n.node in nodes
        ]
        grace = float(self.plan.profile.timeouts.stop)
        grace = min(grace, AFTER_A_LOSS) if lost else grace
        trouble = []
        for group in ([c for c in chosen if c[1].node == 0], [c for c in chosen if c[1].node != 0]):
            if group:
                outcomes = each(group, lambda pair: stop_node(pair[0], run, pair[1].node, grace, lease=self.lease.id))
                trouble += [str(outcome.error) for outcome in outcomes if outcome.error]
        return trouble


def stop_node(
    remote: Remote,
    run: str,
    node: int,
    grace: float,
    say: Any = None,
    *,
    lease: str | None = None,
    claim: Claim | None = None,
) -> dict[str, Any]:
    """Stop one node of a run: main alone gets SIGTERM, after `grace` seconds its session is killed.

    Nodes above 0 are stopped after node 0: since 0.5.21 they swallow SIGTERM and end with node 0's broadcast, so they
    get a short grace only. It is done under `lease`, which is kept, or under a lease of its own by
    `claim`. Raises: Unreachable; AllranksError when processes are left.
    """
    request = {
        "workdir": remote.host.workdir,
        "run": run,
        "grace": grace if node == 0 else min(grace, 20.0),
        "wait": 30.0,
        "lease": lease,
        "claim": claim.request() if claim else None,
    }
    stopped: dict[str, Any] = {}
    for frame in remote.stream("stop", request, silence=grace + 60.0):
        if frame["f"] == "stopping" and say:
            say(remote.host.name, frame)
        elif frame["f"] == "stopped":
            stopped = frame
    if not stopped:
        raise AllranksError(f"{remote.host.name}: the stop of run {run} ended without saying what became of it")
    if stopped.get("left"):
        left = ", ".join(
            str(process.get("pid", process)) if isinstance(process, dict) else str(process)
            for process in stopped["left"]
        )
        raise AllranksError(
            f"{remote.host.name}: still there after the stop: {left}", do="look at them with ps on the host"
        )
    return stopped


def _all(outcomes: Sequence[Outcome[Any, Any]], after: Sequence[str] = ()) -> list[Any]:
    """The values, or one error that tells of every host that failed."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if not errors:
        return [outcome.value for outcome in outcomes]
    if len(errors) == 1 and not after:
        raise errors[0]
    kind = type(errors[0]) if len({type(error) for error in errors}) == 1 else AllranksError
    if any(isinstance(error, Unreachable) for error in errors):
        kind = Unreachable
    raise kind("\n".join([*map(str, errors), *after]))
