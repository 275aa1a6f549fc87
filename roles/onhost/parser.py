"""SGLang's own argument parser -> its options, and what it says to a command line. Run by SGLang's Python, not by ours.

One JSON request on stdin: {"root": folder that sglang lies in or null, "path": further folders of packages, "argv":
words after the module's name or null, "hollow": whether to do without what the parser does not need}. One JSON object
on stdout. `halves` names the modules that went on half filled; an option whose choices came from one has none.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import types
from typing import Any, Dict, List, NoReturn, Optional, Sequence, Tuple

from .hollow import Finder

# What the help of an option on its way out steers to.
STEER = re.compile(r"(?:[Uu]se|alias for)[ :`']+(--[a-z0-9-]+(?:=\w+)?)")


class WrongError(Exception):
    """What the parser says to a command line."""


class Parser(argparse.ArgumentParser):
    """SGLang's parser, which raises instead of printing pages of usage and ending."""

    def error(self, message: str) -> NoReturn:
        raise WrongError(message)


def build(root: Optional[str], hollow: bool) -> Tuple[Parser, List[str]]:
    """Make SGLang's parser. `sglang` itself is an empty package: its __init__ would import everything."""
    if root is None:
        spec = importlib.util.find_spec("sglang")
        if spec is None or not spec.submodule_search_locations:
            raise ImportError("sglang is not installed")
        place = list(spec.submodule_search_locations)
    else:
        place = [os.path.join(root, "sglang")]
    finder = Finder(sorted(getattr(sys, "stdlib_module_names", ())) or _standard())
    if hollow:
        sys.meta_path.insert(0, finder)
    package = types.ModuleType("sglang")
    package.__path__ = place
    package.__dict__["__version__"] = "0"
    sys.modules["sglang"] = package
    from sglang.srt.server_args import ServerArgs  # type: ignore[import-not-found]

    parser = Parser(prog="sglang", add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    ServerArgs.add_cli_args(parser)
    return parser, finder.halves


def _standard() -> List[str]:
    """Python's own modules, for a Python before 3.10 that does not list them."""
    folder = os.path.dirname(os.__file__)
    names = [name.partition(".")[0] for where in (folder, folder + "/lib-dynload") for name in os.listdir(where)]
    return [*names, *sys.builtin_module_names]


def options(parser: argparse.ArgumentParser) -> List[Dict[str, Any]]:
    """Every option with what it takes."""
    return [_option(action) for action in parser._actions if action.option_strings]


def _option(action: argparse.Action) -> Dict[str, Any]:
    told: Dict[str, Any] = {"flags": [flag for flag in action.option_strings if flag.startswith("--")]}
    told["dest"] = action.dest
    told["takes"] = {None: "one", 0: "none", "?": "maybe", "+": "some"}.get(action.nargs, "many")
    if isinstance(action, argparse.BooleanOptionalAction if sys.version_info >= (3, 9) else ()):
        told["takes"] = "none"
    if isinstance(action.choices, (list, tuple, set, dict, type({}.keys()))) and action.choices:
        values = list(action.choices)
        if all(isinstance(value, (str, int, float, type(None))) for value in values):
            told["choices"] = sorted(map(str, values)) if isinstance(action.choices, set) else list(map(str, values))
    if action.type in (int, float):
        told["type"] = action.type.__name__
    words = str(action.help or "")
    new = getattr(action, "new_flag", None)
    if new or type(action).__name__.startswith("Deprecated") or re.match(r"\W*deprecated", words, re.IGNORECASE):
        steer = STEER.search(words) or STEER.search(str(getattr(action, "error_message", "") or ""))
        told["deprecated"] = str(new) if new else steer.group(1) if steer else ""
    return told


def say(parser: Parser, argv: Sequence[str]) -> Optional[str]:
    """What the parser objects to in a command line, or None."""
    try:
        parser.parse_args(list(argv))
    except WrongError as wrong:
        return str(wrong)
    except SystemExit:
        return "it ends at this command line"
    return None


def main() -> None:
    """One request -> one answer."""
    request = json.loads(sys.stdin.readline())
    sys.path.extend(request.get("path") or [])
    out, sys.stdout = sys.stdout, sys.stderr  # whatever an import prints is no answer
    parser, halves = build(request.get("root"), bool(request.get("hollow", True)))
    answer: Dict[str, Any] = {"options": options(parser), "halves": halves, "error": None}
    if request.get("argv") is not None:
        answer["error"] = say(parser, request["argv"])
    json.dump(answer, out)
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
