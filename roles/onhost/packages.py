"""A virtual environment -> the folders that its packages lie in, and the versions there. Nothing is imported.

Folders are listed, since glob compiles a pattern for each name (1 ms).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

INFO = ".dist-info"


def listing(folder: str) -> List[str]:
    """The names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def sites(root: str) -> List[str]:
    """The folders of packages below `root`."""
    found = []
    for lib in (os.path.join(root, name) for name in ("lib", "lib64")):
        for version in listing(lib):
            if version.startswith("python3"):
                found += [os.path.join(lib, version, part) for part in ("site-packages", "dist-packages")]
    return [folder for folder in found if os.path.isdir(folder)]


def versions(site: str, package: str) -> List[str]:
    """Those of a package that are said to be in one of these folders; `package` as its folder is named."""
    names = [name for name in listing(site) if name.startswith(package + "-") and name.endswith(INFO)]
    return [name[len(package) + 1 : -len(INFO)] for name in names]
