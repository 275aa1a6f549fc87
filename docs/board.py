"""A recorded deploy -> docs/board.svg, the picture in the README.

    python docs/board.py                            draw it from docs/recorded/
    python docs/board.py record HOST PROFILE        deploy that, and record what the hosts say (inv teardown ends it)

The recording is every frame of every node, one JSON object a line, as the board got it: the picture is of a real run.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402

from roles.inventory import load  # noqa: E402
from roles.ledger import Ledger  # noqa: E402
from roles.plan import Plan, plan_for  # noqa: E402
from roles.server.confirm import Confirmation, board_for  # noqa: E402
from roles.server.deployment import Deployment  # noqa: E402
from roles.server.run import Run, new_id  # noqa: E402
from roles.view.board import board as drawn  # noqa: E402
from roles.view.console import THEME  # noqa: E402
from roles.watch import Board, Change, Stage, Watcher  # noqa: E402

RECORDING = HERE / "recorded" / "tiny-tp2pp2.ndjson.gz"
PICTURE = HERE / "board.svg"
WIDTH = 72  # columns


class Recorder(Watcher):
    """A watcher that writes down what it is fed."""

    def __init__(self, board: Board, lines: list[str]) -> None:
        super().__init__(board)
        self._lines = lines

    def feed(self, node: int, frame: Mapping[str, Any]) -> list[Change]:
        """Keep the frame (without the machine's identity), then do as any watcher does."""
        kept = {key: value for key, value in frame.items() if key != "boot"}
        self._lines.append(json.dumps({"node": node, "frame": kept}))
        return super().feed(node, frame)


class Silent:
    """An observer that says nothing."""

    def step(self, text: str) -> None:
        """Nothing."""

    def board(self, board: Board, changes: Sequence[Change], now: float) -> None:
        """Nothing."""


def record(host: str, profile: str) -> None:
    """Deploy, and keep every frame until it is up."""
    inventory = load(ROOT)
    plan = plan_for(inventory.profile(profile, ()), inventory.hosts(host))
    began = time.time()
    run = Run(new_id(plan, began), plan, began)
    lines = [json.dumps({"host": host, "profile": profile, "run": run.id, "started": began})]
    with Deployment(plan) as deployment:
        deployment.start(run, {})
        confirmation = Confirmation(deployment, run, Silent(), Ledger(ROOT).path(run.id))
        confirmation.watcher = Recorder(board_for(run), lines)
        print(confirmation.wait().sentence)
    RECORDING.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    print(f"{RECORDING}: {len(lines) - 1} frames, {RECORDING.stat().st_size} bytes")


def boards(plan: Plan) -> Iterator[tuple[float, Board]]:
    """(seconds since the start, the board) after each recorded frame."""
    head, *rest = gzip.decompress(RECORDING.read_bytes()).decode().splitlines()
    told = json.loads(head)
    run = Run(told["run"], plan, float(told["started"]), by="docs")
    watcher = Watcher(board_for(run))
    for line in rest:
        entry = json.loads(line)
        watcher.feed(entry["node"], entry["frame"])
        yield float(entry["frame"].get("t") or 0.0), watcher.board


def plan_of_recording() -> Plan:
    """The plan that was recorded, on a host of the same name that need not be there now."""
    from roles.inventory import Host

    head = json.loads(gzip.decompress(RECORDING.read_bytes()).split(b"\n", 1)[0])
    profile = load(ROOT).profile(head["profile"], ())
    return plan_for(profile, [Host(name=head["host"], address="10.77.1.2", models="/opt/models")])


def most_telling(plan: Plan) -> tuple[float, Board]:
    """The moment at which the ranks are furthest apart: most different milestones, some of them ready."""

    def spread(moment: tuple[float, Board]) -> tuple[int, int]:
        states = moment[1].ranks.values()
        ready = sum(state.stage is Stage.READY for state in states)
        return len({state.milestone for state in states if state.milestone}), ready

    return max(boards(plan), key=spread)


def text(moment: tuple[float, Board]) -> str:
    """The board as plain text, as a terminal of 72 columns shows it."""
    console = Console(file=io.StringIO(), width=WIDTH, theme=THEME, record=True)
    console.print(drawn(moment[1], moment[0], WIDTH))
    return "\n".join(line.rstrip() for line in console.export_text().splitlines()) + "\n"


def svg(moment: tuple[float, Board], title: str) -> str:
    """The board as a picture. No font is fetched from anywhere when it is looked at."""
    console = Console(file=io.StringIO(), width=WIDTH, theme=THEME, record=True, force_terminal=True)
    console.print(drawn(moment[1], moment[0], WIDTH))
    picture = console.export_svg(title=title, unique_id="board")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)


def picture() -> tuple[str, str]:
    """The board as SVG and as text."""
    moment = most_telling(plan_of_recording())
    return svg(moment, "inv deploy --host lab --profile tiny-tp2pp2"), text(moment)


def main() -> None:
    """Record, or draw."""
    if sys.argv[1:2] == ["record"]:
        record(*sys.argv[2:4])
        return
    drawing, words = picture()
    PICTURE.write_text(drawing)
    print(words, end="")


if __name__ == "__main__":
    main()
