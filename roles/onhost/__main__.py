"""`<python> onhost.pyz VERB`: one request on stdin, frames on stdout, an error as a frame, never a traceback.

`serve` instead of a verb: request after request. `serve VERB...`: these are what is going to be asked.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from .frames import Frames
from .hello import greeting
from .problems import HostError, fault, from_os
from .request import Lines, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Callable, List, Optional, Sequence

IDLE = 120.0  # seconds that `serve` waits for a next request
VERBS = ("facts", "start", "follow", "log", "stop", "status", "forget", "lease", "router", "look", "running", "measure",
         "fix", "reach")  # fmt: skip
MODULES = {"log": "logs", "forget": "status", "look": "witness"}  # each other verb's is named like it
LISTENING = ("measure",)  # what the client says meanwhile matters to it
BESIDE = {"facts": ["look"]}  # modules that a verb loads itself when it is asked for all it can


def carry_out(verb: str, request: Request, frames: Frames, lines: Lines) -> None:
    """Do it. Each verb's modules are imported only when they are needed: a start must be quick."""
    work = getattr(_module(MODULES.get(verb, verb)), verb)
    if not gc.isenabled():
        gc.freeze()  # what is loaded until now stays for good
        gc.enable()
    if verb == "follow":  # says its own end
        work(request, frames, lines)
        return
    work(request, frames, *([lines] if verb in LISTENING else []))
    frames.send("end")


def _module(name: str) -> ModuleType:
    """The module of this name beside this one; importlib would bring `warnings` along."""
    name = f"{__package__}.{name}"
    __import__(name)
    return sys.modules[name]


def known(verb: str) -> str:
    """The verb, if it is one. Raises: HostError."""
    if verb not in VERBS:
        raise HostError("bad-request", f"verb {verb or 'missing'!r}", f"one of {', '.join(VERBS)}, or serve")
    return verb


def ready(verbs: Sequence[str], lines: Lines) -> None:
    """Load what these verbs need, for as long as no request waits. Raises: HostError."""
    for name in [name for verb in map(known, verbs) for name in (MODULES.get(verb, verb), *BESIDE.get(verb, ()))]:
        if lines.waiting():
            return
        _module(name)


def serve(frames: Frames, lines: Lines, expected: Sequence[str] = ()) -> int:
    """Carry out request after request of one client, each a line with its `verb`: one start of Python for all of them.

    Ends when the client does, or has asked for nothing for a while: nothing of allranks stays on a host.
    """
    ready(expected, lines)
    while True:
        line = lines.next(wait=IDLE)
        if line is None:
            return 0
        frames.deaf = False
        attempt(lambda line=line: _one(Request.read(line), frames, lines), frames)  # type: ignore[misc]


def _one(request: Request, frames: Frames, lines: Lines) -> None:
    if "c" in request.fields and "verb" not in request.fields:
        return  # said to a `follow` that ended while this was on its way
    verb = known(request.text("verb", ""))
    frames.send("hello", **greeting())
    carry_out(verb, request, frames, lines)


def main(argv: Optional[List[str]] = None) -> int:
    """Exit status 0, or 1 after an error frame."""
    words, frames, lines = sys.argv[1:] if argv is None else argv, Frames(), Lines()
    if words[:1] == ["serve"]:
        return attempt(lambda: serve(frames, lines, words[1:]), frames)

    def once() -> None:
        verb = known(" ".join(words))
        frames.send("hello", **greeting())
        carry_out(verb, Request.read(lines.next()), frames, lines)

    return attempt(once, frames)


def attempt(work: Callable[[], object], frames: Frames) -> int:
    """Do it: 0, or 1 after an error frame, 130 after Ctrl-C. Whatever goes wrong becomes one frame."""
    try:
        try:
            work()
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
