"""Log files as people bring them -> one log a node: rotated pieces joined, only the last start of several."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from roles.watch.launchers import bare
from roles.watch.layout import ECHO, echoed
from roles.watch.weave import HEADS, oldest_first


@dataclass(frozen=True)
class NodeLog:
    """The log of one node. `names`: the files it came from; `starts`: how many starts they hold, the last is `text`."""

    node: int
    names: tuple[str, ...]
    text: str
    starts: int = 1

    @property
    def name(self) -> str:
        """What the node is called in sentences: its first file."""
        return self.names[0]


def node_logs(logs: Mapping[str, str]) -> list[NodeLog]:
    """The logs by node: as each one's echo of the arguments says; one without an echo is a further piece of another."""
    texts = {
        f"{name} ({who})" if len(parts) > 1 else name: oldest_first(part)
        for name, text in logs.items()
        for parts in [bare(text)]
        for who, part in parts.items()
    }
    numbers = {name: echoed(text) for name, text in texts.items()}
    nnodes = max((found.get("nnodes", 1) for found in numbers.values()), default=1)
    pieces: dict[int, list[str]] = {}
    for place, name in enumerate(texts):
        node = numbers[name].get("node_rank", 0 if any(numbers.values()) and nnodes == 1 else place)
        pieces.setdefault(node, []).append(name)
    return [_joined(node, {name: texts[name] for name in names}) for node, names in sorted(pieces.items())]


def _joined(node: int, texts: Mapping[str, str]) -> NodeLog:
    names = sorted(texts, key=lambda name: _first_stamp(texts[name]))
    text = "".join(texts[name] if texts[name].endswith("\n") else f"{texts[name]}\n" for name in names)
    begins = [match.start() for match in re.finditer(rf"^.*?{ECHO.pattern}", text, re.MULTILINE)]
    return NodeLog(node, tuple(names), text[begins[-1] :] if len(begins) > 1 else text, max(1, len(begins)))


def _first_stamp(text: str) -> str:
    head = HEADS.search(text)
    return head[1] if head else ""
