"""All modules of the program, compiled, in one file -> modules: a start need not look for each of 45 files.

The file is for the very Python that wrote it. Any other one, and one that finds it damaged, takes the modules from
their folder as ever.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Dict, Optional, Tuple

    Place = Tuple[int, int]  # first byte, length

SPEC: Any = type(__spec__)  # importlib.machinery's, which would have to be loaded
CONTENTS = 8192  # bytes at the file's beginning: which Python, and where each module is


def _file(folder: str) -> str:
    return os.path.join(folder, f"compiled.{sys.implementation.cache_tag}")


def _head() -> bytes:
    return sys.version.encode() + b"\0"


def keep(folder: str, final: str) -> None:
    """Compile the modules of a folder that will be called `final`."""
    places: Dict[str, Place] = {}
    with open(_file(folder), "wb") as file:
        file.seek(CONTENTS)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as source:
                    code = compile(source.read(), os.path.join(final, name), "exec", dont_inherit=True)
                begin = file.tell()
                places[name[:-3]] = (begin, file.write(marshal.dumps(code)))
        file.seek(0)
        file.write((_head() + marshal.dumps(places))[:CONTENTS])
        file.flush()
        os.fsync(file.fileno())  # half of it after a loss of power would be worse than none


def use(package: str, folder: str) -> None:
    """Take the package's modules from there from now on, if there is such a file."""
    try:
        fd = os.open(_file(folder), os.O_RDONLY | os.O_CLOEXEC)
        contents, head = os.read(fd, CONTENTS), _head()
        if contents.startswith(head):
            sys.meta_path.insert(0, Compiled(package, folder, fd, marshal.loads(contents[len(head) :])))
        else:
            os.close(fd)
    except (OSError, EOFError, ValueError, TypeError):
        pass


class Compiled:
    """Finds and loads the modules of one package."""

    def __init__(self, package: str, folder: str, fd: int, places: Dict[str, Place]) -> None:
        self._package, self._folder, self._fd, self._places = package, folder, fd, places

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """None: it is no module of ours."""
        package, _, module = name.rpartition(".")
        return SPEC(name, self) if package == self._package and module in self._places else None

    def create_module(self, spec: ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Run its code."""
        name = module.__name__.rpartition(".")[2]
        module.__file__ = os.path.join(self._folder, name + ".py")
        begin, length = self._places[name]
        try:
            code = marshal.loads(os.pread(self._fd, length, begin))
        except (EOFError, ValueError, TypeError):  # damaged
            with open(module.__file__, "rb") as source:
                code = compile(source.read(), module.__file__, "exec", dont_inherit=True)
        exec(code, module.__dict__)
