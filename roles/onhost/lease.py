"""lease: take, renew, give back, look at and take over leases; the rules are in leases.py."""

from __future__ import annotations

import contextlib

from . import leases
from .frames import Frames
from .problems import HostError
from .request import Request
from .state import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional

    from .state import Json


def claim_of(request: Request) -> Optional[Json]:
    """The claim that a request carries, or None: {id, who, pid, what} and, if it is not the default, ttl."""
    claim: Optional[Json] = request.maybe("claim", dict)
    if claim is not None:
        asked = Request(claim)
        for key in ("id", "who", "what"):
            asked.text(key)
        asked.number("ttl", leases.TTL)
    return claim


def asked_with_facts(home: Home, request: Request) -> Optional[Json]:
    """The lease that rides on `facts`: taken before anything is looked at, so that what is seen stays true."""
    claim = claim_of(request)
    if claim is None:
        return None
    wants: Dict[str, Any] = {key: claim.get(key) for key in ("deployment", "ports", "gpus")}
    try:
        return {"held": True, "by": leases.told(leases.take(home, claim, wants))}
    except HostError as refused:
        return {"held": False, "message": refused.message, "do": refused.do, **refused.more}
    except OSError as error:  # a full disk: the facts shall say so, in their own words
        return {"held": False, "message": f"no lease can be written to {home.path}: {error.strerror}", "do": ""}


@contextlib.contextmanager
def under_lease(home: Home, request: Request, wants: Json, ttl: float) -> Iterator[None]:
    """Change something for as long as `ttl` seconds: under the lease `lease` that the client holds and keeps, or under
    one of its own, by `claim`, given back at the end. Without either it is only looked whether somebody has one.

    Raises: HostError naming whose lease is in the way.
    """
    claim, held = claim_of(request), request.maybe("lease", str)
    if claim is None:
        leases.hold(home, wants, held, ttl)
    else:
        leases.check(home, wants, claim["id"])
        with contextlib.suppress(OSError):  # a full disk must not keep a server running
            leases.take(home, dict(claim, ttl=ttl), wants)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, HostError):
            if claim is not None:
                leases.drop(home, claim["id"])
            elif held:
                leases.renew(home, held)


def lease(request: Request, frames: Frames) -> None:
    """`do`: take, renew, drop, show or unlock. Answers with every lease that stands afterwards."""
    home, what = Home(request.text("workdir")), request.text("do")
    acts: Dict[str, Callable[[], Any]] = {
        "take": lambda: leases.take(home, claim_of(request) or {}, request.fields),
        "renew": lambda: leases.renew(home, request.text("id"), request.number("ttl", leases.TTL)),
        "drop": lambda: leases.drop(home, request.text("id")),
        "unlock": lambda: leases.unlock(home, request.text("which", ""), request.text("who")),
        "show": lambda: [],
    }
    if what not in acts or (what == "take" and claim_of(request) is None):
        raise HostError("bad-request", f"`do` is {what!r}: take (with `claim`), renew, drop, unlock or show")
    done = acts[what]()
    taken = done if what == "unlock" else []
    frames.send("leases", leases=[leases.told(each) for each in leases.standing(home)], taken=taken)
