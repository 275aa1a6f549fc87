"""Leases: who is changing what on this host, whoever logs in as whom. A lease ends by itself unless it is renewed.

A lease covers a deployment's name (in one work folder), ports and GPUs: two that have none of these in common stand
side by side. Times are CLOCK_BOOTTIME, so that setting the clock neither ends nor lengthens a lease; a reboot ends
them all.
"""

from __future__ import annotations

import contextlib
import os
import time

from . import leasefile
from .leasefile import now
from .problems import HostError
from .state import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional

    from .state import Json

TTL = 30.0  # seconds until a lease ends that nobody renews
NAMED = ("id", "who", "pid", "what", "deployment")
DO = "wait for it (--wait 120), or take it over: inv unlock --host HOST"


def standing(home: Home) -> List[Json]:
    """Those that stand now."""
    return [lease for lease in leasefile.read(home).leases() if _stands(lease)]


def _stands(lease: Json) -> bool:
    return bool(lease["until"] > now() and not lease.get("taken_by"))


def in_common(has: Json, wants: Json) -> str:
    """What both cover, in words; empty: nothing."""
    name = has.get("deployment")
    if name and name == wants.get("deployment") and has.get("home") == wants.get("home"):
        return f"the deployment {name}"
    for key, word in (("gpus", "GPU"), ("ports", "port")):
        both = sorted(set(has.get(key) or ()) & set(wants.get(key) or ()))
        if both:
            return f"{word} {', '.join(map(str, both))}"
    return ""


def words(lease: Json) -> str:
    """Who, from where, since when, doing what."""
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(lease["since"]))
    ago, left = max(0, round(time.time() - lease["since"])), max(0, round(lease["until"] - now()))
    where = f", from {lease['address']}" if lease.get("address") else ""
    return (f"{lease['who']} (pid {lease.get('pid') or '?'}{where}) since {since} ({ago} s ago): {lease['what']}"
            f" {lease.get('deployment') or 'this host'}; ends in {left} s unless renewed")  # fmt: skip


def refuse(leases: List[Json], wants: Json, mine: Optional[str]) -> None:
    """Raises: HostError when somebody else's lease covers what is wanted, or when mine was taken over."""
    for lease in leases:
        if mine and lease["id"] == mine and lease.get("taken_by"):
            raise HostError("leased", f"the lease of this command was taken over by {lease['taken_by']}",
                            "ask them; inv status tells what runs", by=told(lease))  # fmt: skip
    for lease in leases:
        common = in_common(lease, wants) if lease["id"] != mine and _stands(lease) else ""
        if common:
            raise HostError("leased", f"{common} is being changed by {words(lease)}", DO, by=told(lease))


def check(home: Home, wants: Json, mine: Optional[str]) -> None:
    """For start and stop: may this be changed now? Raises: HostError naming whose lease it is."""
    refuse(leasefile.read(home).leases(), dict(wants, home=home.path), mine)


def take(home: Home, claim: Json, wants: Json) -> Json:
    """Take or renew a lease on what is wanted. Raises: HostError naming whose it is."""
    with leasefile.changing(home) as book:
        refuse(book.leases(), dict(wants, home=home.path), claim["id"])
        old = next((lease for lease in book.own if lease["id"] == claim["id"]), {"since": round(time.time(), 3)})
        if old in book.own:
            book.own.remove(old)
        lease: Json = {**old, **{key: claim.get(key) for key in NAMED}, "address": _address(), "home": home.path,
                       "until": round(now() + float(claim.get("ttl") or TTL), 3)}  # fmt: skip
        lease["deployment"] = wants.get("deployment")
        for key in ("ports", "gpus"):
            lease[key] = list(wants.get(key) or ())
        book.own.append(lease)
    return lease


def renew(home: Home, mine: str, ttl: float = TTL) -> None:
    """Make it last from now. One that ended meanwhile stands again, unless its place is taken: raises HostError."""
    with leasefile.changing(home) as book:
        for lease in book.own:
            if lease["id"] == mine:
                refuse(book.leases(), lease, mine)
                lease["until"] = round(now() + ttl, 3)


def hold(home: Home, wants: Json, mine: Optional[str], ttl: float = TTL) -> None:
    """Before something is changed: nobody else's lease may cover it; mine lasts from now. Raises: HostError."""
    check(home, wants, mine)
    if mine:
        with contextlib.suppress(OSError):  # a full disk must not keep a server running
            renew(home, mine, ttl)


def drop(home: Home, mine: str) -> None:
    """Give it back. One that is not there is none the worse."""
    with leasefile.changing(home) as book:
        book.own[:] = [lease for lease in book.own if lease["id"] != mine or lease.get("taken_by")]


def unlock(home: Home, chosen: str, by: str) -> List[Json]:
    """Take over the standing leases of this id or deployment (all of them when empty); gives those."""
    with leasefile.changing(home) as book:
        found = [
            lease for lease in book.leases() if _stands(lease) and chosen in ("", lease["id"], lease["deployment"])
        ]
        taken = [told(lease) for lease in found]
        for lease in found:
            if lease in book.own:
                lease.update(taken_by=by, until=round(now(), 3))
            else:
                book.taken.append({"id": lease["id"], "by": by})
    return taken


def told(lease: Json) -> Json:
    """A lease as a client may know it; its id is the key to it, and is told: all who log in here trust each other."""
    known = {key: lease.get(key) for key in (*NAMED, "ports", "gpus", "address", "since", "taken_by")}
    return dict(known, words=words(lease), left=round(max(0.0, lease["until"] - now()), 1))


def _address() -> Optional[str]:
    """Where the login comes from, as sshd says."""
    return (os.environ.get("SSH_CONNECTION") or "").split(" ")[0] or None
