"""`inv watch --json`, its lines as they come."""

from __future__ import annotations

from typing import Any

from tests.hosts.clone import Clone
from tests.reading import Reading


class Watching(Reading):
    """A running `inv watch`."""

    def __init__(self, clone: Clone, *options: str) -> None:
        super().__init__(clone.start("watch", "--json", *options))

    def said(self, words: str, within: float = 40.0) -> dict[str, Any]:
        """The next line with these words."""
        return self.until(lambda line: words in line.get("text", ""), within)

    def end(self, within: float = 60.0) -> tuple[int, dict[str, Any]]:
        """Exit status and last line."""
        code = self.process.wait(within)
        return code, self.rest()[-1]
