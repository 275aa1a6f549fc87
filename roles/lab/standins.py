"""Lets the real SGLang import on a machine without a GPU. Copied into the lab's virtualenv; nothing here computes.

SGLang imports kernels' packages at the top of its modules even where the CPU engine never calls them. Those that are
not installed (triton alone is 1 GB) are stood in for by modules in which every name exists and does nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from types import ModuleType
from typing import Any

STOOD_IN = {"sgl_kernel": "0.0.0", "triton": "3.6.0", "IPython": "0.0.0"}  # package -> the version it claims
OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


class Hollow:
    """What a class of a missing package is replaced by: it can be made and inherited from."""

    def __init__(self, *_: object, **__: object) -> None:
        return

    def __init_subclass__(cls, **_: object) -> None:
        return


class StandIn(ModuleType):
    """A module, and anything found in it: called, it decorates; indexed, it is itself; iterated, it is empty."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        spelled = f"{self.__name__}.{name}"
        made = type(name, (Hollow,), {}) if name[0].isupper() else sys.modules.get(spelled) or StandIn(spelled)
        setattr(self, name, made)
        return made

    def __call__(self, *given: Any, **options: object) -> Any:
        bare = len(given) == 1 and not options and callable(given[0])
        return given[0] if bare else lambda decorated=None, *_, **__: decorated

    def __getitem__(self, _: object) -> StandIn:
        return self

    def __contains__(self, _: object) -> bool:
        return False

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __mro_entries__(self, _: tuple[type, ...]) -> tuple[type, ...]:
        return (Hollow,)


class Missing(MetaPathFinder, Loader):
    """Asked last, so that a package that is installed after all is the one imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        known = fullname.partition(".")[0] in STOOD_IN
        return ModuleSpec(fullname, self, is_package=True) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__version__"] = STOOD_IN[module.__name__.partition(".")[0]]


class Torchvision(MetaPathFinder):
    """Declares the operators that PyPI's torchvision, a CUDA build, cannot register beside a CPU build of torch."""

    declared: Any = None

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname != "torchvision" or self.declared or version("torchvision").endswith("+cpu"):
            return
        torch = importlib.import_module("torch")
        if torch.version.cuda is None:  # else its library loads and registers them itself: twice is fatal
            self.declared = torch.library.Library("torchvision", "FRAGMENT")
            for schema in OPERATORS:
                self.declared.define(schema)


# A CUDA build of torch brings NCCL, which SGLang then wants to use for CPU tensors too. Without one it uses Gloo.
os.environ.setdefault("SGLANG_NCCL_SO_PATH", "/nonexistent/no-nccl-on-a-cpu")
sys.meta_path.insert(0, Torchvision())
sys.meta_path.append(Missing())
