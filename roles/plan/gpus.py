"""Which GPUs of a host a deployment uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roles.inventory.errors import InputError

if TYPE_CHECKING:
    from roles.inventory.host import Host
    from roles.inventory.profile import Profile


def gpus_for(profile: Profile, host: Host, needed: int) -> tuple[int, ...]:
    """One GPU for each of the `needed` ranks on the host; none on a CPU, or where nobody wrote the host's GPUs down."""
    known = [gpu.index for gpu in host.gpus]
    if profile.flags.get("device") == "cpu" or (not known and profile.gpus is None):
        return ()
    wanted = known[:needed] if profile.gpus is None else list(profile.gpus)
    if len(wanted) != needed:
        raise InputError(_wrong_number(profile, host, needed, len(wanted)), do=_size(profile))
    if known and (missing := [gpu for gpu in wanted if gpu not in known]):
        has = f"{host.name} has GPU {', '.join(map(str, known))}"
        raise InputError(f"profile {profile.name}: gpus: there is no GPU {missing[0]}; {has}", do="name those it has")
    return tuple(wanted)


def visible_devices(profile: Profile, gpus: tuple[int, ...]) -> dict[str, str]:
    """CUDA_VISIBLE_DEVICES where the profile names its GPUs, or where SGLang's own choice (0, 1, 2 ...) is another."""
    if profile.gpus is None and gpus == tuple(range(len(gpus))):
        return {}
    return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus))} if gpus else {}


def _wrong_number(profile: Profile, host: Host, needed: int, found: int) -> str:
    if profile.gpus is not None:
        return f"profile {profile.name}: gpus names {found}, the layout needs {needed} on {host.name}"
    return f"profile {profile.name}: the layout needs {needed} GPUs on {host.name}, which has {found}"


def _size(profile: Profile) -> str:
    layout = profile.layout
    replicas = "" if profile.attention_dp or layout.dp == 1 else f" x dp={layout.dp}"
    nodes = "" if layout.nnodes == 1 else f" / nnodes={layout.nnodes}"
    return f"tp={layout.tp} x pp={layout.pp}{replicas}{nodes} must equal the GPUs used"
