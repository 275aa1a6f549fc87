"""The program that runs on a host: one request in, frames out. Standard library only, Python 3.8 and later.

It knows nothing of the other rooms. `pack.py` (which stays at home) makes one file of it, `roles/remote/` brings it
to the host, and it is run once per verb; nothing of it stays behind there but the server it was told to start.

A deploy starts it on every host, so what it loads is looked at. Types stand under `if TYPE_CHECKING:` and tuples with
names are classes with slots, since typing takes 2 ms; a pattern is a text, compiled by the first that needs it.
"""

from .compiled import use

use(__name__, __path__[0])
