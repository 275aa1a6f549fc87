"""A model -> is every file of it here and whole? The sizes are in the files themselves; no weights are read."""

from __future__ import annotations

import json
import os
import struct

from . import proc
from .packages import listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from .state import Json

INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
LONGEST_HEADER = 100 << 20  # bytes; safetensors allows no longer one
WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")
TOKENIZER = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "tekken.json")


def checkpoint(model: str, hub: str, weights: bool) -> Json:
    """What is known of a model. `weights`: whether they will be read (not with load_format dummy)."""
    local = model.startswith(("/", "~"))
    folder = os.path.expanduser(model) if local else snapshot(model, hub)
    if folder is None or not os.path.exists(folder):
        return {"model": model, "local": local, "folder": folder if local else None, "exists": False}
    told: Json = {"model": model, "local": local, "folder": folder, "exists": True}
    if os.path.isfile(folder):  # one GGUF file
        return dict(told, config=None, files=1, missing=[], broken=[], bytes=os.path.getsize(folder), tokenizer=True)
    told["config"] = _json(os.path.join(folder, "config.json"))
    told["tokenizer"] = any(os.path.exists(os.path.join(folder, name)) for name in TOKENIZER)
    if weights:
        told.update(_weights(folder))
    return told


def snapshot(model: str, hub: str) -> Optional[str]:
    """The folder of a Hub model in the cache, by its main reference; None when it is not there."""
    base = os.path.join(hub, "models--" + model.replace("/", "--"))
    commit = (proc.read(os.path.join(base, "refs", "main")) or b"").decode("ascii", "replace").strip()
    folder = os.path.join(base, "snapshots", commit)
    return folder if commit and os.path.isdir(folder) else None


def _weights(folder: str) -> Json:
    names = [name for name in listing(folder) if not name.startswith(".")]
    there = _named(folder) or [name for name in names if name.endswith(WEIGHTS)]
    sizes: Dict[str, int] = {}
    missing: List[str] = []
    broken: List[Tuple[str, str]] = []
    for name in there:
        path = os.path.join(folder, name)
        try:
            sizes[name] = os.path.getsize(path)
            wrong = fault(path, sizes[name])
        except FileNotFoundError:
            missing.append(name)
            continue
        except OSError as error:
            wrong = error.strerror or "cannot be read"
        if wrong:
            broken.append((name, wrong))
    return {"files": len(there), "missing": missing, "broken": broken, "bytes": sum(sizes.values()),
            "unfinished": [name for name in names if name.endswith(".incomplete")]}  # fmt: skip


def _named(folder: str) -> List[str]:
    """The files that the index names; [] when there is no index."""
    for index in INDEXES:
        found = _json(os.path.join(folder, index))
        if found is not None:
            return sorted(set((found.get("weight_map") or {}).values()))
    return []


def fault(path: str, size: int) -> Optional[str]:
    """What is wrong with a file of weights, or None. A safetensors file says in its head how long it is."""
    if size == 0:
        return "is empty"
    with open(path, "rb") as file:
        if not path.endswith(".safetensors"):
            return (
                "is a pointer of git-lfs, not the file" if file.read(20).startswith(b"version https://git-") else None
            )
        head = file.read(8)
        if head.startswith(b"version "):
            return "is a pointer of git-lfs, not the file"
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else LONGEST_HEADER + 1
        if length > LONGEST_HEADER:
            return "is no safetensors file"
        try:
            tensors: Dict[str, Any] = json.loads(file.read(length).decode("utf-8"))
            ends = [entry["data_offsets"][1] for name, entry in tensors.items() if name != "__metadata__"]
        except (ValueError, KeyError, TypeError, IndexError):
            return "has a damaged head"
    whole = 8 + length + max(ends, default=0)
    return None if size == whole else f"has {size} bytes, its head says {whole}"


def _json(path: str) -> Optional[Json]:
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(64 << 20).decode("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
