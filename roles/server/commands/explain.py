"""`inv logs --explain`: what happened, by the logs of a deployment or by files from anywhere."""

from __future__ import annotations

import contextlib
import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from roles.inventory.errors import InputError
from roles.remote import Remote, each
from roles.server.commands.find import seek
from roles.view.console import console, print_json
from roles.view.explain import render
from roles.watch.condense import Condensed, condense
from roles.watch.explain import Explanation, explain

PIECE = 1 << 20  # characters read at once
STDIN = "-"
GZIP = b"\x1f\x8b"  # how such a file begins


def run(
    root: Path, host: str | None, name: str | None, files: Sequence[str], *, json: bool, accept_new: bool = False
) -> int:
    """Explain the given files (no host is asked), or the logs of the deployment that is meant. Ends with 0."""
    told, places = _files(files) if files else _deployed(root, host, name, accept_new=accept_new)
    if json:
        print_json({**told.as_json(), "files": places})
    else:
        render(console(), told, places)
    return 0


def _files(files: Sequence[str]) -> tuple[Explanation, list[str]]:
    names = [Path(file).name if file != STDIN else "stdin" for file in files]
    if len(set(names)) < len(names):
        names = list(files)
    told = explain({name: condense(_pieces(file)) for name, file in zip(names, files, strict=True)})
    return told, [file if file == STDIN else str(Path(file).resolve()) for file in files]


def _pieces(file: str) -> Iterator[str]:
    """The text of a file, packed with gzip or not; bytes that are no UTF-8 are shown as such."""
    try:
        with contextlib.ExitStack() as opened:
            raw = sys.stdin.buffer if file == STDIN else opened.enter_context(Path(file).open("rb"))
            packed = cast(io.BufferedReader, raw).peek(2)[:2] == GZIP
            plain = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
            text = io.TextIOWrapper(plain, encoding="utf-8", errors="backslashreplace", newline="\n")
            while piece := text.read(PIECE):
                yield piece
    except OSError as error:
        raise InputError(f"--file {file}: {error.strerror or error}", do="name a log file, or - for stdin") from error


def _deployed(root: Path, host: str | None, name: str | None, *, accept_new: bool) -> tuple[Explanation, list[str]]:
    sought = seek(root, host, name, accept_new=accept_new, ended=True)
    hosts, found = sought.hosts, sought.run()

    def log(node: tuple[int, Remote]) -> Condensed:
        workdir = node[1].host.workdir
        frames = node[1].stream("log", {"workdir": workdir, "run": found.run, "lines": None, "since": None})
        return condense(frame["text"] for frame in frames if frame["f"] == "log")

    with hosts:
        outcomes = each(hosts.node_hosts(found), log)
        logs = {outcome.item[1].host.name: outcome.unwrap() for outcome in outcomes}
    return explain(logs), [f"{host}:{summary.get('log')}" for host, summary in found.nodes.values()]
