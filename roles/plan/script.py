"""A node's part of a plan -> its launch script. The only place where a value meets a shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roles.plan.argv import by_flag

if TYPE_CHECKING:
    from jinja2 import Template

# As limits.conf names them -> ulimit's option. Its units: KiB for sizes, else how many.
ULIMIT = {"nofile": "n", "nproc": "u", "memlock": "l", "stack": "s", "core": "c", "as": "v", "fsize": "f"}
_TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def render(
    *,
    title: str,
    host: str,
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    venv: str | None,
    secrets: bool,
    limits: Mapping[Any, int | str] | None = None,
) -> str:
    """The text of launch.sh. It holds no time and no run id: the same plan gives the same bytes."""
    lines = [" ".join(shlex.quote(word) for word in words) for words in by_flag(argv)]
    return _template().render(
        title=title,
        host=host,
        python=argv[0],
        words=lines,
        environment=environment,
        venv=venv,
        secrets=secrets,
        limits={ULIMIT[name]: value for name, value in (limits or {}).items()},
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # 20 ms, and most commands write no script

    # Not HTML: what is escaped here is escaped for the shell, by the quote filter.
    shell = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    shell.filters["quote"] = shlex.quote
    return shell.get_template("launch.sh.j2")
