"""allranks: SGLang servers on GPU hosts by plain SSH; a deployment is up only when every rank has answered.

The contents page: every command in a few lines. What they do lies in roles/.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import inspect
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from invoke import Collection, Context, task

from roles.inventory.errors import AllranksError

if TYPE_CHECKING:
    from types import TracebackType

    from roles.plan import Plan

ROOT = Path(__file__).resolve().parent

# Options that mean the same wherever they stand; a command gives the words of its own ones.
COMMON = {
    "host": "a host, several (a,b) or a group of inventory/hosts.yml",
    "profile": "a profile: the name of a file in inventory/profiles",
    "name": "a deployment (profile@host) or the beginning of a run's id",
    "set": "override a value of the profile for this time: --set max_running_requests=2048 (repeatable)",
    "json": "print one JSON object instead of text",
    "parallel": "so many hosts at once (30; more than sshd's MaxStartups matters only on a shared jump host)",
    "wait": "seconds to wait while another operator's command changes the same (default: say whose, and end with 3)",
    "since": "only runs since 2h, 7d, 14:05 or '2026-11-29 14:05:00'",
    "accept_new_host_key": "take the host key of a host never seen before (a changed key is refused all the same)",
}
REPEATABLE = ("set", "file")
OF_HOST, OF_PROFILE = "only runs on this host (a,b: on any of them)", "only runs of this profile"


def command(called: str | None = None, **own: str) -> Callable[[Callable[..., Any]], Any]:
    """A task whose errors are one line and a documented exit code (docs/exit-codes.md). `own`: an option's help."""

    def wrap(body: Callable[..., Any]) -> Any:
        taken = [name for name in inspect.signature(body).parameters if name != "c"]
        words = {name.replace("_", "-"): {**COMMON, **own}[name] for name in taken}

        @functools.wraps(body)
        def guarded(*args: Any, **kwargs: Any) -> None:
            _ended.clear()
            try:
                code = body(*args, **kwargs)
            except AllranksError as error:
                _say_error(error)
                code = error.exit_code
            except KeyboardInterrupt:
                print("\nstopped by Ctrl-C", file=sys.stderr)
                code = 130
            except BrokenPipeError:
                # `inv logs | head`: the end was asked for
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                code = 0
            except OSError as error:  # of this machine: what befalls a host is an AllranksError
                _say_error(error, f"{error.filename or 'standard output'}: {error.strerror or error}")
                code = AllranksError.exit_code
            except Exception as error:  # a bug, and still no traceback that nobody asked for
                _say_error(error, f"{type(error).__name__}: {error}: that is a bug in allranks; --debug shows where")
                code = AllranksError.exit_code
            _ended.append(code or 0)
            if code:
                raise SystemExit(code)

        repeatable = [name for name in REPEATABLE if name in taken]
        return task(guarded, name=called, positional=[], auto_shortflags=False, help=words, iterable=repeatable)

    return wrap


def _leave() -> None:
    """End at once: until Python has taken all its modules apart 0.1 to 0.3 s pass, and nothing waits for it."""
    if _ended:
        with contextlib.suppress(BrokenPipeError):
            try:
                sys.stdout.flush()
            except OSError as error:
                _ended.append(_ended[-1] or AllranksError.exit_code)
                _say_error(error, f"standard output: {error.strerror or error}")
            sys.stderr.flush()
        os._exit(_ended[-1])


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What comes up outside a command: `inv --help | head` is no error."""
    if issubclass(kind, BrokenPipeError):
        os._exit(0)
    sys.__excepthook__(kind, error, trace)


_ended: list[int] = []  # with what the last command ended; empty while one runs, or when none did
if Path(sys.argv[0]).name in ("inv", "invoke"):
    atexit.register(_leave)
    sys.excepthook = _uncaught


def _say_error(error: Exception, text: str = "") -> None:
    if "--debug" in sys.argv or os.environ.get("ALLRANKS_DEBUG"):
        traceback.print_exception(error)
    for line in (text or str(error)).splitlines() or [type(error).__name__]:
        print(f"allranks: {line}", file=sys.stderr)


def plan(
    host: str | None, profile: str | None, overrides: Sequence[str] | None, ask: str = "", *, accept_new: bool = False
) -> Plan:
    """The plan that these arguments mean; one that is missing is answered with what there is.

    `ask`: the verb that the hosts will be asked first; they are connected to while the plan is made.
    """
    from roles.inventory import load

    inventory = load(ROOT)
    read, hosts = inventory.profile(profile or "", overrides or ()), inventory.hosts(host or "")
    if ask:
        from roles.remote import begin

        begin(hosts, ask, accept_new=accept_new)
    from roles.plan import plan_for

    return plan_for(read, hosts)


@command(sglang="hold the flags against this SGLang release (default: the profile's `sglang`)")
def show(
    c: Context,
    host: str | None = None,
    profile: str | None = None,
    set: Sequence[str] | None = None,
    sglang: str | None = None,
    json: bool = False,
) -> int:
    """Print the plan of a deploy: ranks, GPUs, environment, launch script. Connects nowhere."""
    from roles.server.commands import show

    return show.run(plan(host, profile, set), sglang, json=json)


@command(
    fix="then do what is harmless, after asking: folders, stale locks, no_proxy and limits in the profile",
    yes="with --fix: do it without asking",
)
def check(
    c: Context,
    host: str | None = None,
    profile: str | None = None,
    set: Sequence[str] | None = None,
    fix: bool = False,
    yes: bool = False,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """Look at the hosts before a deploy: everything that could not work is said now. Changes nothing but by --fix."""
    made = plan(host, profile, set, "facts", accept_new=accept_new_host_key)
    from roles.server.commands import check

    if fix:
        again = functools.partial(plan, host, profile, set)
        return check.fix(ROOT, again, yes=yes, json=json, accept_new=accept_new_host_key)
    return check.run(made, json=json, accept_new=accept_new_host_key)


@command(against="another profile: compare the two instead, without connecting", all="also what is the same")
def diff(
    c: Context,
    host: str | None = None,
    profile: str | None = None,
    set: Sequence[str] | None = None,
    against: str | None = None,
    all: bool = False,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """The plan against what runs, field by field; or one profile against another."""
    if against:
        from roles.server.commands import diff

        return diff.of_profiles(ROOT, profile or "", against, every=all, json=json)
    made = plan(host, profile, set, "status", accept_new=accept_new_host_key)
    from roles.server.commands import diff

    return diff.run(made, every=all, json=json, accept_new=accept_new_host_key)


@command(
    profile=f"{COMMON['profile']}: draw its ranks in their places",
    measure="also time copies between the GPUs and the profile's collectives, with the torch that is there",
    anyway="measure also on GPUs that are in use",
    limit="seconds that measuring on one host may take (300)",
)
def topo(
    c: Context,
    host: str | None = None,
    profile: str | None = None,
    set: Sequence[str] | None = None,
    measure: bool = False,
    anyway: bool = False,
    limit: float = 300.0,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """Draw the GPUs of hosts: NUMA nodes, links, memory, which rank would sit where; measure what lies between them."""
    from roles.inventory import load
    from roles.server.commands import topo
    from roles.server.measure import Options

    made = plan(host, profile, set) if profile else None
    hosts = [node.host for node in made.nodes] if made else load(ROOT).hosts(host or "")
    measuring = Options(anyway, limit) if measure else None
    return topo.run(ROOT, hosts, made, measuring, json=json, accept_new=accept_new_host_key)


@command(
    restart="start it anew even when it is up and unchanged",
    replace="also stop other deployments of ours that hold its ports or GPUs",
    keep="leave what is left of a failed run running",
    replicas="a deployment of its own on each host, independent of the others",
    batch="replicas: so many hosts at a time; no further batch after a failure (default: all at once)",
    max_failures="replicas: go on as long as no more than so many are not up",
    rolling="replicas, one host after the other: each is replaced only when the one before it is up",
    deadline="replicas: seconds until a host must be up; after that it is left as it is and counts as failed",
)
def deploy(
    c: Context,
    host: str | None = None,
    profile: str | None = None,
    set: Sequence[str] | None = None,
    restart: bool = False,
    replace: bool = False,
    keep: bool = False,
    wait: float = 0.0,
    replicas: bool = False,
    batch: int = 0,
    max_failures: int = 0,
    rolling: bool = False,
    parallel: int = 30,
    deadline: float = 0.0,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """Start a profile on hosts and wait until every rank has answered."""
    typed = (restart, replace, keep, accept_new_host_key, wait, tuple(set or ()))
    if replicas or rolling or batch or max_failures or deadline or parallel < 1:
        from roles.server.commands import replicas as several
        from roles.server.deploy import Options

        rollout = several.rollout(replicas or rolling, batch, max_failures, rolling, parallel, deadline)
        return several.run(ROOT, host, profile, Options(*typed), rollout, json=json)
    made = plan(host, profile, set, "facts", accept_new=accept_new_host_key)
    from roles.server.commands import deploy as one
    from roles.server.deploy import Options

    return one.run(ROOT, made, Options(*typed), json=json)


@command(
    all="ask every host of the inventory",
    deadline="seconds until a host that says nothing counts as silent (40; 10 to connect)",
)
def status(
    c: Context,
    host: str | None = None,
    name: str | None = None,
    all: bool = False,
    parallel: int = 30,
    deadline: float = 0.0,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """What runs where: up, loading, lost or gone, rank by rank, as the hosts tell it."""
    from roles.server.commands.find import survey

    found = survey(ROOT, host, name, every=all, parallel=parallel, deadline=deadline, accept_new=accept_new_host_key)
    from roles.server.commands.status import run

    return run(found, json=json)


@command(
    rank="only the lines of one rank: PP0TP1, TP3",
    lines="how many of each host's last lines (50; 0: all)",
    follow="go on as lines are written; Ctrl-C ends it",
    since="only lines since 10m, 2h, 14:05 or '2026-11-29 14:05:00' (the host's local time)",
    all="of everything of ours on the hosts that are named",
    explain="say what happened instead: the earliest cause, each rank's stage, what to do",
    file="explain a log file from anywhere, - for stdin; no host is asked (one a node: repeatable)",
    json="one JSON object a line",
)
def logs(
    c: Context,
    host: str | None = None,
    name: str | None = None,
    rank: str | None = None,
    lines: int = 50,
    follow: bool = False,
    since: str | None = None,
    all: bool = False,
    parallel: int = 30,
    explain: bool = False,
    file: Sequence[str] | None = None,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """The logs of all hosts of a deployment, merged by time, by rank if asked; or what they say happened."""
    if all:
        from roles.server.commands import logs_all

        logs_all.alone(name=name, rank=rank, follow=follow, explain=explain, file=file)
        return logs_all.run(
            ROOT, host, lines=lines, since=since, parallel=parallel, json=json, accept_new=accept_new_host_key
        )
    if explain or file:
        from roles.server.commands import explain as story

        return story.run(ROOT, host, name, file or (), json=json, accept_new=accept_new_host_key)
    from roles.server.commands.find import seek
    from roles.server.lines import asked_for

    wanted = asked_for(lines, since, rank)
    sought = seek(ROOT, host, name, accept_new=accept_new_host_key, ended=True)
    from roles.server.commands.logs import run

    return run(sought, wanted, follow=follow, json=json)


@command(keep_on_loss="when it is lost, leave what is left of it running", json="one JSON object a line")
def watch(
    c: Context,
    host: str | None = None,
    name: str | None = None,
    keep_on_loss: bool = False,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """Stay with a deployment: print what changes; when it is lost say which rank, where and why, and stop the rest."""
    from roles.server.commands.find import seek

    sought = seek(ROOT, host, name, accept_new=accept_new_host_key)
    from roles.server.commands.watch import run

    return run(ROOT, sought, keep=keep_on_loss, json=json)


@command()
def doctor(
    c: Context,
    host: str | None = None,
    name: str | None = None,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """Log, processes, GPU, port and health held against each other; also of servers allranks never started."""
    from roles.server.commands.doctor import run

    return run(ROOT, host, name, json=json, accept_new=accept_new_host_key)


@command(all="everything of ours on the hosts that are named")
def teardown(
    c: Context,
    host: str | None = None,
    name: str | None = None,
    all: bool = False,
    parallel: int = 30,
    wait: float = 0.0,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """Stop exactly what was deployed and wait until processes, port and GPU memory are free."""
    if all:
        from roles.server.commands import teardown_all

        return teardown_all.run(
            ROOT, host, name, wait=wait, parallel=parallel, json=json, accept_new=accept_new_host_key
        )
    from roles.server.commands.find import seek

    sought = seek(ROOT, host, name, accept_new=accept_new_host_key)
    from roles.server.commands import teardown

    return teardown.run(ROOT, sought, wait=wait, json=json, accept_new=accept_new_host_key)


@command(
    host=OF_HOST,
    profile=OF_PROFILE,
    result="only runs that went so: up, failed, lost, refused, stopped, ... (docs/history.md)",
    last="at most so many (20; 0: all)",
)
def history(
    c: Context,
    host: str | None = None,
    profile: str | None = None,
    name: str | None = None,
    result: str | None = None,
    since: str | None = None,
    last: int = 20,
    json: bool = False,
) -> int:
    """The runs made from here, newest first, and how each went. Connects nowhere."""
    from roles.server.commands import history

    return history.run(ROOT, history.wanted(host, profile, name, result, since, last), json=json)


@command(
    host=OF_HOST,
    profile=OF_PROFILE,
    name="a deployment (profile@host); or the beginning of a run's id: all that is known of that run",
)
def report(
    c: Context,
    host: str | None = None,
    profile: str | None = None,
    name: str | None = None,
    since: str | None = None,
    json: bool = False,
) -> int:
    """What the runs made from here teach: how often each came up, how long that took, what it failed by."""
    from roles.server.commands import history

    return history.report(ROOT, history.wanted(host, profile, name, None, since, 0), json=json)


@command(
    hosts="the replicas' hosts or groups",
    profile="the replicas' profile",
    host="where the router itself runs (default: the first of the replicas' hosts)",
    policy="cache_aware, power_of_two, random or round_robin",
    port="its port; its metrics take the one above",
    venv="virtual environment there that has sglang-router (default: the host's)",
    restart="start it anew even when it is up and unchanged",
)
def router(
    c: Context,
    hosts: str | None = None,
    profile: str | None = None,
    host: str | None = None,
    policy: str = "cache_aware",
    port: int = 30080,
    venv: str | None = None,
    restart: bool = False,
    wait: float = 0.0,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """Put SGLang's own router in front of replicas. A replica leaves it before it is replaced or taken down."""
    from roles.server.commands.router import run

    return run(
        ROOT,
        host,
        hosts,
        profile,
        policy=policy,
        port=port,
        venv=venv,
        restart=restart,
        wait=wait,
        json=json,
        accept_new=accept_new_host_key,
    )


@command()
def unlock(
    c: Context,
    host: str | None = None,
    name: str | None = None,
    json: bool = False,
    accept_new_host_key: bool = False,
) -> int:
    """Take over the lease that another operator's command has on a host. That command is told, and changes no more."""
    from roles.server.commands.unlock import run

    return run(ROOT, host, name, json=json, accept_new=accept_new_host_key)


@command(
    "up",
    hosts="how many (lab1 .. labN; `lab` is the first)",
    kind="auto, namespace (root), user-namespace, loopback or lxc (root)",
    sglang="also install the real SGLang for the CPU, once (it says how much that is first)",
)
def lab_up(c: Context, hosts: int = 1, kind: str = "auto", sglang: bool = False) -> int:
    """Bring up hosts on this machine to try everything on, with OpenSSH's own sshd."""
    from roles import lab

    if sglang:
        lab.sglang(ROOT, say)
    lab.up(ROOT, hosts, kind, say)
    return 0


@command("status")
def lab_status(c: Context, json: bool = False) -> int:
    """The lab's hosts, and how to reach each by ssh."""
    from roles import lab
    from roles.view.lab import render

    render(lab.status(ROOT), as_json=json)
    return 0


@command("down")
def lab_down(c: Context) -> int:
    """End the lab: no process, namespace, link or mount is left (the SGLang install is kept)."""
    from roles import lab
    from roles.ledger import Ledger

    hosts = {"lab", *(row["name"] for row in lab.status(ROOT))}
    lab.down(ROOT, say)
    Ledger(ROOT).stop_all_on(hosts, "its lab was taken down", time.time())
    return 0


def say(text: str) -> None:
    """A line of progress."""
    print(text, flush=True)


namespace = Collection(
    show,
    check,
    diff,
    topo,
    deploy,
    status,
    watch,
    doctor,
    logs,
    teardown,
    router,
    history,
    report,
    unlock,
    Collection("lab", lab_up, lab_status, lab_down),
)
