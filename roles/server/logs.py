"""The logs of all nodes of a run, merged by time, each line with its host and rank."""

from __future__ import annotations

import heapq
import queue
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from roles.inventory import Rank
from roles.inventory.errors import AllranksError
from roles.remote import Follower, Frame, Remote, each
from roles.server.standing import Standing
from roles.server.target import Hosts
from roles.watch import Line, LineReader

TICK = 0.2  # seconds


@dataclass(frozen=True)
class Entry:
    """One line of a node's log; `host` printed it. `line` is None for a word of our own (a lost connection)."""

    host: str
    line: Line | None
    note: str = ""


def last(hosts: Hosts, run: Standing, *, lines: int | None, since: float | None) -> tuple[list[Entry], dict[str, int]]:
    """The last `lines` of each node (or all since an epoch second), merged, and where each host's log ended (bytes)."""
    nodes = hosts.node_hosts(run)

    def one(node: tuple[int, Remote]) -> list[Frame]:
        remote = node[1]
        request = {"workdir": remote.host.workdir, "run": run.run, "lines": lines, "since": since}
        return [frame for frame in remote.ask("log", request) if frame["f"] == "log"]

    each_host: list[list[tuple[str, int, Entry]]] = []
    ends: dict[str, int] = {}
    for number, outcome in enumerate(each(nodes, one)):
        name, frames = outcome.item[1].host.name, outcome.value or []
        if outcome.error:  # the others' lines are none the worse
            each_host.append([("", number, Entry(name, None, f"its log could not be read: {outcome.error}"))])
            continue
        reader = LineReader()
        found = [line for frame in frames for line in reader.feed(frame["text"])] + list(reader.flush())
        ends[name] = int(frames[-1]["to"]) if frames else 0
        each_host.append([(stamp, number, Entry(name, line)) for stamp, line in stamped(found)])
    merged = heapq.merge(*each_host, key=lambda item: item[0])
    return [entry for _, _, entry in merged], ends


def last_of_all(hosts: Hosts, runs: Sequence[Standing], *, lines: int | None, since: float | None) -> list[Entry]:
    """The last `lines` of each node of several runs (or all since an epoch second), merged by time."""
    outcomes = each(runs, lambda run: last(hosts, run, lines=lines, since=since)[0], parallel=hosts.parallel)
    merged = heapq.merge(*(list(_timed(outcome.unwrap())) for outcome in outcomes), key=lambda item: item[0])
    return [entry for _, entry in merged]


def _timed(entries: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    stamp = ""
    for entry in entries:
        stamp = max(stamp, (entry.line.time if entry.line else None) or stamp)
        yield stamp, entry


def stamped(lines: Sequence[Line]) -> Iterator[tuple[str, Line]]:
    """Each line with a time to sort by: one that has none goes with the line before it."""
    stamp = ""
    for line in lines:
        stamp = max(stamp, line.time or stamp)
        yield stamp, line


def follow(hosts: Hosts, run: Standing, ends: dict[str, int]) -> Generator[Entry, None, None]:
    """The lines as they are written, from where `last` ended, over lost connections, until the server has ended.

    Closing the iterator ends the program on every host.
    """
    frames: queue.Queue[tuple[str, Frame]] = queue.Queue(maxsize=10_000)
    readers: dict[str, LineReader] = {}
    followers = []
    for _, remote in hosts.node_hosts(run):
        name = remote.host.name
        readers[name] = LineReader()
        request = {"workdir": remote.host.workdir, "run": run.run, "from": ends.get(name, 0)}
        request |= {"probe": None, "gpus": False, "watch": True, "log": True}
        followers.append(Follower(remote, request, _into(frames, name)))
    try:
        for follower in followers:
            follower.start()
        waiting = set(readers)
        while waiting:
            try:
                name, frame = frames.get(timeout=TICK)
            except queue.Empty:
                continue
            yield from _entries(name, frame, readers[name])
            if frame["f"] == "end":
                waiting.discard(name)
    finally:
        for follower in followers:
            follower.stop()


def _into(frames: queue.Queue[tuple[str, Frame]], name: str) -> Callable[[Frame], None]:
    return lambda frame: frames.put((name, frame))


def _entries(host: str, frame: Frame, reader: LineReader) -> Iterator[Entry]:
    kind = frame["f"]
    if kind == "log":
        for line in reader.feed(frame["text"]):
            yield Entry(host, line)
    elif kind == "end":
        for line in reader.flush():
            yield Entry(host, line)
    elif kind == "log_reset":
        yield Entry(host, None, f"the log was {frame.get('why')}: reading it from its start")
    elif kind == "lost_connection":
        yield Entry(host, None, f"connection lost ({frame['why']}); the server goes on, trying again")
    elif kind == "connected":
        yield Entry(host, None, "connected again, going on where it was")
    elif kind == "exit":
        yield Entry(host, None, f"the server has ended with status {frame.get('code')}")
    elif kind == "failed":
        raise AllranksError(str(frame["message"]))


def of_rank(entries: Iterator[Entry] | Sequence[Entry], rank: Rank | None) -> Iterator[Entry]:
    """Only a rank's own lines (all of them when `rank` is None); our own notes stay."""
    return (entry for entry in entries if rank is None or entry.line is None or entry.line.rank == rank)
