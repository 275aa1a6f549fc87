"""Modules in which every name exists and does nothing: what SGLang's parser is built without.

Run by SGLang's Python. Packages that the parser is not built out of are hollow (torch alone takes seconds to import, on
a cold disk half a minute), and a module of SGLang that cannot live with that goes on half filled.
"""

from __future__ import annotations

import abc
import sys
import types
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

NEEDED = {"msgspec", "packaging", "typing_extensions"}  # small, and the parser is built out of what they compute
ELSEWHERE = {"org", "npu", "musa", "hpu", "xpu", "mps"}  # of other platforms: these must be missing, not hollow


class _Kind(abc.ABCMeta):
    """The type of hollow classes: every attribute exists."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Hollow(name)

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def register(cls, *given: Any, **_: Any) -> Any:
        return given[-1] if given else Hollow("register")


class _Class(metaclass=_Kind):
    """What a class of a hollow module is replaced by: it can be made and inherited from."""

    def __init__(self, *_: Any, **__: Any) -> None:
        return

    def __init_subclass__(cls, **_: Any) -> None:
        return

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Hollow(name)


class Hollow(types.ModuleType):
    """A module, and anything found in one: called, it decorates or is itself; iterated, it is empty; it is false."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ELSEWHERE:
            raise AttributeError(name)
        full = "{}.{}".format(self.__name__, name)
        made = _Kind(name, (_Class,), {}) if name[:1].isupper() else sys.modules.get(full) or Hollow(full)
        setattr(self, name, made)
        return made

    def __call__(self, *given: Any, **options: Any) -> Any:
        decorated = len(given) == 1 and not options and isinstance(given[0], (type, types.FunctionType))
        return given[0] if decorated else self

    def _itself(self, *_: Any) -> Any:
        return self

    __getitem__ = __or__ = __ror__ = __add__ = __radd__ = __sub__ = __mul__ = __truediv__ = __mod__ = _itself
    __enter__ = _itself

    def __exit__(self, *_: Any) -> None:
        return

    def __setitem__(self, *_: Any) -> None:
        return

    def __contains__(self, _: Any) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def _less(self, _: Any) -> bool:
        return False

    __lt__ = __gt__ = __le__ = __ge__ = _less

    def __mro_entries__(self, _: Any) -> Tuple[type, ...]:
        return (_Class,)


class Finder(MetaPathFinder, Loader):
    """Asked first: everything but Python itself, SGLang and the few that are needed is hollow."""

    def __init__(self, standard: Sequence[str]) -> None:
        self.standard = set(standard)
        self.halves: List[str] = []
        self._own: Dict[str, Any] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        top = fullname.partition(".")[0]
        if top == "sglang":
            spec = PathFinder.find_spec(fullname, path)
            if spec is None:
                return ModuleSpec(fullname, self, is_package=True)
            if spec.loader is not None:
                self._own[fullname], spec.loader = spec.loader, self
            return spec
        if top in self.standard or top in ELSEWHERE or (top in NEEDED and PathFinder.find_spec(top)):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> Optional[types.ModuleType]:
        return None if spec.name in self._own else Hollow(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        loader = self._own.get(module.__name__)
        if loader is None:
            vars(module)["__version__"] = "9999"
            return
        try:
            loader.exec_module(module)
        except Exception:
            if module.__name__ == "sglang.srt.server_args":
                raise
            self.halves.append(module.__name__)
            module.__class__ = Hollow

    def get_source(self, name: str) -> Optional[str]:
        """Some of SGLang's modules ask for the text of their own classes."""
        loader = self._own.get(name)
        return loader.get_source(name) if loader else None
