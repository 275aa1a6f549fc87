"""The closer look before a deploy: software, flags, room, network, GPUs and model, all at once. Changes nothing."""

from __future__ import annotations

import os

from .cards import Cards
from .checkpoint import checkpoint
from .flags import Asked
from .nics import nics
from .places import places
from .request import Request
from .software import software
from .state import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from .state import Json


class Look:
    """What takes long is started at once and read last.

    Args: asked: argv, environment, python, model, weights, folders, internal, peers, gpus. version: SGLang's, if known.
    """

    def __init__(self, home: Home, asked: Request, version: Optional[str]) -> None:
        self._asked = asked
        self._python = asked.maybe("python", str)
        self._environment: Json = asked.maybe("environment", dict) or {}
        argv: List[str] = asked.many("argv", str)
        usable = self._python and os.access(os.path.expanduser(self._python), os.X_OK)
        self._flags = Asked(home, self._python, version, argv, self._environment) if argv and usable else None
        self._cards = Cards() if asked.flag("gpus", True) else None

    def answer(self, runs: List[Json]) -> Json:
        """Everything."""
        asked = self._asked
        told: Dict[str, Any] = {"software": software(self._python, self._environment)}
        model = asked.maybe("model", str)
        if model:
            told["model"] = checkpoint(model, told["software"]["hub"], asked.flag("weights", True))
        told["places"] = places([*asked.many("folders", str), told["software"]["hub"]])
        told["nics"] = nics(asked.many("peers", dict), asked.maybe("internal", str))
        if self._cards:
            if self._cards.there:
                from .kernel_log import kernel_log

                told["kernel"] = kernel_log()
            told["cards"] = self._cards.answer(runs)
        if self._flags:
            told["flags"] = self._flags.answer()
        return told
