"""Frames of the on-host program -> lines -> events -> board -> verdict. Pure: nothing here reads a clock or a host."""

from roles.watch.board import Board, expect
from roles.watch.changes import Change
from roles.watch.durations import Duration, durations
from roles.watch.events import Event, classify
from roles.watch.fold import advance, observe
from roles.watch.line import Line
from roles.watch.lines import LineReader
from roles.watch.sentences import Verdict
from roles.watch.spellings import Kind
from roles.watch.states import NodeState, RankState, Stage
from roles.watch.verdict import due, verdict
from roles.watch.watcher import Watcher

__all__ = [
    "Board",
    "Change",
    "Duration",
    "Event",
    "Kind",
    "Line",
    "LineReader",
    "NodeState",
    "RankState",
    "Stage",
    "Verdict",
    "Watcher",
    "advance",
    "classify",
    "due",
    "durations",
    "expect",
    "observe",
    "verdict",
]
