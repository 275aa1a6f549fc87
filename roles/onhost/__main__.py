"""`<python> onhost.pyz VERB`: one request on stdin, frames on stdout, an error as a frame, never a traceback."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import List, Optional

from .frames import Frames
from .hello import greeting
from .problems import HostError, fault, from_os
from .request import Lines, Request

VERBS = ("facts", "start", "follow", "log", "stop", "status", "forget", "lease", "look", "running")


def carry_out(verb: str, request: Request, frames: Frames, lines: Lines) -> None:
    """Do it. Each verb's modules are imported only when they are needed: a start must be quick."""
    if verb == "facts":
        from .facts import facts as run
    elif verb == "start":
        from .start import start as run
    elif verb == "log":
        from .logs import log as run
    elif verb == "stop":
        from .stop import stop as run
    elif verb == "status":
        from .status import status as run
    elif verb == "forget":
        from .status import forget as run
    elif verb == "lease":
        from .lease import lease as run
    elif verb == "look":
        from .witness import look as run
    elif verb == "running":
        from .running import running as run
    else:
        from .follow import follow

        follow(request, frames, lines)
        return
    run(request, frames)
    frames.send("end")


def serve(argv: List[str], frames: Frames) -> None:
    """Read the request and carry it out. Raises: HostError."""
    if len(argv) != 1 or argv[0] not in VERBS:
        raise HostError("bad-request", f"verb {' '.join(argv) or 'missing'!r}", f"one of {', '.join(VERBS)}")
    frames.send("hello", **greeting())
    lines = Lines()
    carry_out(argv[0], Request.read(lines.next()), frames, lines)


def main(argv: Optional[List[str]] = None) -> int:
    """Exit status 0, or 1 after an error frame."""
    frames = Frames()
    try:
        try:
            serve(sys.argv[1:] if argv is None else argv, frames)
            return 0
        except BrokenPipeError:
            return 0
        except OSError as error:
            raise from_os(error) from None
        except (HostError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise fault(error) from None
    except KeyboardInterrupt:
        return 130
    except HostError as problem:
        with contextlib.suppress(OSError):
            frames.error(problem)
        return 1


if __name__ == "__main__":
    # At once, not by way of the interpreter's end: a thread may still wait for an answer that nobody needs any more.
    os._exit(main())
