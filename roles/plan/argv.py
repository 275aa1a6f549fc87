"""Profile -> the server's command line. Flags are spelled in full: --pp alone is ambiguous since SGLang 0.5.5."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from roles.inventory.errors import InputError

if TYPE_CHECKING:
    from roles.inventory.host import Host
    from roles.inventory.profile import Profile

ON_HOST = "host:"  # model: host:NAME is NAME in the host's own folder of models


def argv_for(profile: Profile, host: Host, port: int, node: int, meeting: str | None) -> tuple[str, ...]:
    """The whole argv of one node; `meeting` is where several nodes find each other."""
    # Deferred like every import of the inventory's models: `roles.plan` itself must stay light.
    from roles.inventory.flags import arguments

    return (
        python_of(profile, host),
        *("-m", "sglang.launch_server"),
        *_own(profile, host),
        *("--host", profile.host, "--port", str(port)),
        *_nodes(profile, node, meeting),
        *arguments(profile.flags),
        *profile.extra_args,
    )


def python_of(profile: Profile, host: Host) -> str:
    """The Python that runs SGLang."""
    venv = venv_of(profile, host)
    return str(PurePosixPath(venv, "bin", "python")) if venv else host.python


def venv_of(profile: Profile, host: Host) -> str | None:
    """The virtual environment SGLang is in."""
    return profile.venv or host.venv


def model_path(profile: Profile, host: Host) -> str:
    """The model as SGLang is told it."""
    if not profile.model.startswith(ON_HOST):
        return profile.model
    if host.models is None:
        do = "give the host models: FOLDER, or write the model's own path"
        what = f"profile {profile.name}: model is {profile.model}, but {host.name} has no models folder"
        raise InputError(what, do=do)
    return str(PurePosixPath(host.models, profile.model.removeprefix(ON_HOST)))


def _own(profile: Profile, host: Host) -> Iterator[str]:
    """The flags that have fields of their own. A size of one is SGLang's default: dp and ep are said when asked for."""
    layout = profile.layout
    yield from ("--model-path", model_path(profile, host))
    if profile.served_model_name is not None:
        yield from ("--served-model-name", profile.served_model_name)
    yield from ("--tp-size", str(layout.tp), "--pp-size", str(layout.pp))
    for axis, size in (("dp", layout.dp), ("ep", layout.ep)):
        if size > 1 or axis in layout.model_fields_set:
            yield from (f"--{axis}-size", str(size))


def _nodes(profile: Profile, node: int, meeting: str | None) -> Iterator[str]:
    if meeting is not None:
        yield from ("--nnodes", str(profile.layout.nnodes), "--node-rank", str(node), "--dist-init-addr", meeting)


def by_flag(argv: Iterable[str]) -> list[tuple[str, ...]]:
    """The same words for people: the program, what it runs, then each flag with its values."""
    lines: list[tuple[str, ...]] = []
    for word in argv:
        if word.startswith("--") or len(lines) < 2:
            lines.append((word,))
        else:
            lines[-1] = (*lines[-1], word)
    return lines
