"""reach: do these other hosts answer from here? Asked by a client that has lost one of them itself."""

from __future__ import annotations

from .frames import Frames
from .nics import nics
from .request import Request


def reach(request: Request, frames: Frames) -> None:
    """`peers`: name, address and SSH port of each. Answers with {name: {reached, from, error}}, after 4 s at most."""
    frames.send("reached", peers=nics(request.many("peers", dict), None)["peers"])
