"""What the operator wrote, as nouns: Host, Profile, Layout, Rank; and the errors every room raises.

Names are imported when they are first used: errors and ranks must not cost the import of pydantic.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roles.inventory.errors import (
        AllranksError,
        Different,
        InputError,
        Leased,
        Lost,
        NeverUp,
        NotYet,
        Refused,
        Unreachable,
    )
    from roles.inventory.host import Gpu, Host
    from roles.inventory.inventory import Inventory, load
    from roles.inventory.profile import Layout, Profile, Timeouts
    from roles.inventory.rank import Rank

# Plugins of pydantic could only come from somebody else's package; looking for them reads what is installed (10 ms).
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

__all__ = [
    "AllranksError",
    "Different",
    "Gpu",
    "Host",
    "InputError",
    "Inventory",
    "Layout",
    "Leased",
    "Lost",
    "NeverUp",
    "NotYet",
    "Profile",
    "Rank",
    "Refused",
    "Timeouts",
    "Unreachable",
    "load",
]

_HOME = {
    "Gpu": "host",
    "Host": "host",
    "Inventory": "inventory",
    "Layout": "profile",
    "Profile": "profile",
    "Rank": "rank",
    "Timeouts": "profile",
    "load": "inventory",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return __all__
