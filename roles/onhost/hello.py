"""Who answers: said first, by every verb."""

from __future__ import annotations

import os
import sys
import time

from .proc import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

PROTOCOL = 1


def greeting() -> Dict[str, Any]:
    """The host, its boot, its clock's distance from UTC (seconds) and the Python that runs this."""
    return {
        "protocol": PROTOCOL,
        "hostname": os.uname().nodename,
        "boot": boot_id(),
        "pid": os.getpid(),
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
        "utc_offset": time.localtime().tm_gmtoff,
        "home": os.path.expanduser("~"),
    }
