"""Small factories for the frames and seats that the tests of `watch` fold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roles.inventory.rank import Rank
from roles.watch import Board, Watcher, expect

LOGS = Path(__file__).parent.parent / "logs"
CASES = Path(__file__).parent / "cases"
Frame = dict[str, Any]

EXPECTED = {
    "tp_size": 2,
    "pp_size": 2,
    "dp_size": 1,
    "nnodes": 1,
    "model_path": "/srv/model",
    "served_model_name": "tiny",
    "port": 31000,
}


@dataclass(frozen=True)
class Sizes:
    tp: int = 1
    pp: int = 1
    dp: int = 1


@dataclass(frozen=True)
class Seat:
    rank: Rank
    label: str
    node: int
    host: str
    gpu: int | None
    title: str


def seats(sizes: Sizes, nnodes: int = 1, *, gpus: bool = False) -> list[Seat]:
    """Pipeline stages over the nodes, or tensor ranks when there are fewer stages than nodes."""
    found = []
    for pp in range(sizes.pp):
        for tp in range(sizes.tp):
            rank = Rank(pp, tp)
            node = pp * nnodes // sizes.pp if sizes.pp >= nnodes else tp * nnodes // sizes.tp
            axes = (f"_PP{pp}" if sizes.pp > 1 else "") + (f"_TP{tp}" if sizes.tp > 1 else "")
            gpu = (pp * sizes.tp + tp) // 1 if gpus else None
            found.append(Seat(rank, rank.label(sizes), node, f"lab{node + 1}", gpu, f"sglang::scheduler{axes}"))
    return found


def board(tp: int = 2, pp: int = 2, nnodes: int = 1, **more: Any) -> Board:
    sizes = Sizes(tp, pp)
    wanted = {"expected": {**EXPECTED, "tp_size": tp, "pp_size": pp, "nnodes": nnodes}, "port": 31000, **more}
    return expect(seats(sizes, nnodes, gpus=wanted.pop("gpus", False)), layout=sizes, nnodes=nnodes, **wanted)


def text_of(name: str) -> str:
    return (LOGS / name).read_text(encoding="utf-8", errors="backslashreplace")


def log(text: str, t: float = 100.0) -> Frame:
    return {"f": "log", "t": t, "text": text}


def proc(pid: int, title: str, state: str = "S", *, rss_mib: int = 500, cpu_s: float = 1.0, **more: Any) -> Frame:
    return {"pid": pid, "ppid": 10, "title": title, "state": state, "rss_mib": rss_mib, "cpu_s": cpu_s, **more}


def scheduler_pids(on: Board, node: int = 0) -> dict[str, int]:
    """The pid that `procs` gives each rank of a node, by label."""
    here = [state for state in on.ranks.values() if state.node == node]
    return {state.label: 4240 + index for index, state in enumerate(here)}


def procs(on: Board, t: float = 100.0, *, node: int = 0, dead: Iterable[str] = (), zombie: Iterable[str] = (),
          stopped: Iterable[str] = (), main: int | None = 10, extra: Iterable[Frame] = ()) -> Frame:  # fmt: skip
    """Main, one scheduler a rank and the detokenizer; `dead` ranks are missing, `zombie` ones are defunct."""
    rows = [proc(main, "python -m sglang.launch_server")] if main else []
    gone, defunct, frozen = set(dead), set(zombie), set(stopped)
    pids = scheduler_pids(on, node)
    for state in on.ranks.values():
        if state.node == node and state.label not in gone:
            letter = "Z" if state.label in defunct else "T" if state.label in frozen else "S"
            rows.append(proc(pids[state.label], state.title, letter))
    rows += [proc(4300, "sglang::detokenizer"), *extra]
    return {"f": "procs", "t": t, "main": main, "leader": 9, "procs": rows}


def port(t: float = 100.0, *, ours: bool | None = True, pid: int = 10) -> Frame:
    holder = None if ours is None else {"pid": pid, "cmdline": "python -m other", "user": "eve", "ours": ours}
    return {"f": "port", "t": t, "port": 31000, "holder": holder}


def health(t: float = 100.0, status: int | None = 200) -> Frame:
    return {"f": "http", "t": t, "what": "health", "status": status, "seconds": 1.0}


def settings(on: Board, t: float = 100.0, **changed: Any) -> Frame:
    return {"f": "settings", "t": t, "settings": {**on.expected, "random_seed": 7, **changed}, "version": "0.5.23"}


def generation(t: float = 100.0, status: int | None = 200) -> Frame:
    return {"f": "generation", "t": t, "status": status, "text": "Hello", "seconds": 0.3}


def exited(t: float = 100.0, code: int | None = 0, **more: Any) -> Frame:
    return {"f": "exit", "t": t, "code": code, **more}


def milestones(axes: str, *, upto: str = "Memory pool end") -> str:
    """What one rank of 0.5.23 prints, up to and with the line that begins with `upto`."""
    lines = (
        "Init parallel begin.",
        "Init parallel ends. elapsed=0.48 s",
        "Load weight begin. avail mem=20.42 GB",
        "Load weight end. elapsed=0.02 s, type=LlamaForCausalLM, avail mem=20.42 GB, mem usage=0.00 GB.",
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 2048, K size: 0.00 GB, V size: 0.00 GB",
        "Memory pool end. avail mem=20.34 GB",
    )
    last = next(index for index, line in enumerate(lines) if line.startswith(upto))
    return "".join(said(axes, line) for line in lines[: last + 1])


def said(axes: str, message: str) -> str:
    """One line of a log as SGLang writes it."""
    return f"[2026-11-29 14:37:54{' ' + axes if axes else ''}] {message}\n"


READY = said("", "The server is fired up and ready to roll!")


def healthy(on: Board, t: float = 100.0, *, without: str = "") -> list[tuple[int, Frame]]:
    """Every frame that a run which is up has sent, but the named one."""
    frames: list[tuple[str, int, Frame]] = []
    for node in on.nodes:
        frames.append((f"procs {node}", node, procs(on, t, node=node)))
    for state in on.ranks.values():
        axes = state.title.removeprefix("sglang::scheduler").strip("_").replace("_", " ")
        frames.append((f"milestones {state.label}", state.node, log(milestones(axes), t)))
    frames += [("ready", 0, log(READY, t)), ("port", 0, port(t)), ("health", 0, health(t))]
    frames += [("settings", 0, settings(on, t)), ("generation", 0, generation(t))]
    return [(node, frame) for name, node, frame in frames if name != without]


def watched(on: Board, frames: Iterable[tuple[int, Mapping[str, Any]]]) -> Watcher:
    """A watcher that has been fed these frames."""
    watcher = Watcher(on)
    for node, frame in frames:
        watcher.feed(node, frame)
    return watcher
