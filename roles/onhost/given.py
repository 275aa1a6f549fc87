"""A server's main process -> what it was really given: its arguments, and the planned variables it has."""

from __future__ import annotations

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from .session import Process


class Given:
    """names: variables whose values are told; secrets: only which of them are there."""

    def __init__(self, names: List[str], secrets: List[str]) -> None:
        self._names, self._secrets = names, secrets

    def of(self, main: Optional[Process]) -> Optional[Dict[str, Any]]:
        """The frame's fields; None while main is not the server yet."""
        if main is None or not main.is_server():
            return None
        raw = proc.read(f"/proc/{main.stat.pid}/environ")
        if raw is None:
            return None
        pairs = [word.decode("utf-8", "replace").partition("=") for word in raw.split(b"\0")[:-1]]
        has = {name: value for name, _, value in pairs}
        return {
            "argv": proc.redact(proc.arguments(main.stat.pid, empty=True)),
            "environ": {name: has[name] for name in self._names if name in has},
            "secrets": [name for name in self._secrets if name in has],
        }
