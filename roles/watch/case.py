"""What a host's `look` tells of one server, and its logs -> a case: per rank, its process and what its log says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from roles.inventory.rank import Rank
from roles.watch.board import Board, expect
from roles.watch.explain import Explanation, explain
from roles.watch.layout import Sizes, seats_of
from roles.watch.seating import seated, title_axes
from roles.watch.states import RankState
from roles.watch.witness import Told, Witness


@dataclass(frozen=True)
class Seen:
    """One rank: what its log says and its process, None when there is none."""

    state: RankState
    host: str
    row: Told | None
    pid: int | None  # of the process it has, or had

    @property
    def name(self) -> str:
        """`PP0 TP1 on lab1`."""
        return f"{self.state.label} on {self.host}"


@dataclass(frozen=True)
class Case:
    """One server, on one host or several. `silent`: hosts of it that did not answer, with the reason."""

    name: str
    nodes: tuple[Witness, ...]
    silent: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def explained(self) -> Explanation:
        """What the logs alone say."""
        return explain({witness.host: witness.log for witness in self.nodes})

    @property
    def head(self) -> Witness:
        """Node 0, or the lowest that answered."""
        return min(self.nodes, key=lambda witness: witness.node)

    @property
    def ours(self) -> bool:
        """Whether allranks started it."""
        return bool(self.head.told.get("ours"))

    @property
    def was_up(self) -> bool:
        """Confirmed up once, or its log says that it served."""
        board = self.explained.board
        return bool(self.head.told.get("up")) or board.ready_at is not None or self.head.told.get("health") == 200

    @property
    def alive(self) -> bool:
        """Whether any process of it lives."""
        return any(witness.rows for witness in self.nodes)

    @cached_property
    def ranks(self) -> tuple[Seen, ...]:
        """Every expected rank of the nodes that answered."""
        return tuple(seen for witness in self.nodes for seen in _ranks(witness, self._board()))

    @property
    def gone(self) -> list[Seen]:
        """Ranks that have no process."""
        return [seen for seen in self.ranks if seen.row is None]

    def _board(self) -> Board:
        """The layout by the log's echo; where no log tells it, by the command line."""
        told = self.head.told
        if self.explained.kind != "unknown" or "tp" not in told:
            return self.explained.board
        sizes = Sizes(*(int(told.get(key) or 1) for key in ("tp", "pp", "dp", "nnodes")))
        names = {witness.node: witness.host for witness in self.nodes}
        return expect(seats_of(sizes, names), layout=sizes, nnodes=sizes.nnodes)


def _ranks(witness: Witness, board: Board) -> Iterator[Seen]:
    """A run's own record says which process was which rank; elsewhere the titles do."""
    rows = {int(row["pid"]): row for row in witness.rows}
    if witness.told.get("ranks"):
        states = {state.label: state for state in board.ranks.values()}
        for rank in witness.told["ranks"]:
            label = str(rank["label"])
            known = RankState(Rank.parse(label), label, witness.node, witness.host, None, str(rank["title"]))
            pid = rank.get("pid")
            yield Seen(states.get(label, known), witness.host, rows.get(pid) if pid else None, pid)
        return
    found = {}
    for row in rows.values():
        axes = title_axes(str(row.get("title") or ""))
        rank_of = seated(board, witness.node, axes) if axes is not None else None
        if rank_of is not None:
            found[rank_of] = row
    for rank_of, state in board.ranks.items():
        if state.node == witness.node:
            own = found.get(rank_of)
            yield Seen(state, witness.host, own, int(own["pid"]) if own else None)
