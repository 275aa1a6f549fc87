"""A host: how it is reached, what it has, where allranks may work on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from roles.inventory.shapes import (
    AbsolutePath,
    Address,
    Count,
    HomePath,
    Index,
    Interface,
    Jump,
    Name,
    OneLine,
    Port,
    Program,
    Switch,
    User,
)

# YAML keys are text, so that a NUMA node is a number written as text here: no Strict.
NumaNode = Annotated[int, Field(ge=0, le=1023)]


@dataclass(frozen=True)
class Gpu:
    """A GPU of a host: its index as nvidia-smi counts, and the NUMA node it hangs on, where that is known."""

    index: int
    numa: int | None


class Host(BaseModel):
    """A machine that is reached by SSH."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: Name = Field(description="What you call it.")
    address: Address = Field(
        default_factory=lambda known: known.get("name", ""),
        description="Host name or IP address for SSH. Without it the name, so that your ssh_config decides.",
    )
    user: User | None = Field(default=None, description="Login name. Without it what ssh_config says, else yours.")
    port: Port | None = Field(default=None, description="SSH port. Without it what ssh_config says, else 22.")
    jump: Jump | None = Field(
        default=None, description="Reach it through this host: a name in the inventory, or user@host:port."
    )
    proxy_command: OneLine | None = Field(
        default=None, description="Reach it through this local command, as ssh_config's ProxyCommand."
    )
    key: OneLine | None = Field(
        default=None, description="Private key file on this machine; a relative path starts at the repository."
    )
    known_hosts: OneLine | None = Field(
        default=None, description="known_hosts file on this machine. Without it your own ~/.ssh/known_hosts."
    )
    kind: Literal["lxc", "vm", "metal"] = Field(
        default="metal", description="LXC container, virtual machine or bare metal."
    )
    sudo: Switch = Field(
        default=False,
        description="Log in as user, and do everything there as root by sudo without a password. "
        "Not needed where the user itself may run the server.",
    )
    workdir: HomePath = Field(default="~/.allranks", description="Folder on the host that allranks keeps its runs in.")
    venv: AbsolutePath | None = Field(
        default=None, description="Virtual environment on the host that SGLang is installed in."
    )
    python: Program = Field(
        default="python3",
        description="Python on the host for allranks' own program, and for SGLang where there is no venv.",
    )
    models: AbsolutePath | None = Field(
        default=None, description="Folder of checkpoints on the host; a profile's model host:NAME is NAME in it."
    )
    internal: Address = Field(
        default_factory=lambda known: known.get("address", ""),
        description="Address that the other nodes of a deployment reach it at. Without it the address.",
    )
    interface: Interface | None = Field(
        default=None, description="Network interface between nodes; becomes NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME."
    )
    gpu_count: Count | None = Field(default=None, alias="gpus", description="How many GPUs it has, numbered from 0.")
    numa: dict[NumaNode, tuple[Index, ...]] = Field(default={}, description="NUMA node: the GPUs on it.")
    lab: Switch = Field(default=False, description="Made by inv lab.up on this machine.")
    via: Host | None = Field(
        default=None, description="The host that jump means, filled in when the inventory is read."
    )

    @field_validator("proxy_command")
    @classmethod
    def _one_way_there(cls, command: str | None, known: ValidationInfo) -> str | None:
        if command and known.data.get("jump"):
            raise ValueError("jump and proxy_command exclude each other; keep one")
        return command

    @field_validator("numa")
    @classmethod
    def _gpus_once_and_there(
        cls, numa: dict[int, tuple[int, ...]], known: ValidationInfo
    ) -> dict[int, tuple[int, ...]]:
        listed, count = [gpu for gpus in numa.values() for gpu in gpus], known.data.get("gpu_count")
        if twice := sorted({gpu for gpu in listed if listed.count(gpu) > 1}):
            raise ValueError(f"GPU {twice[0]} is listed twice")
        if count is not None and (beyond := [gpu for gpu in listed if gpu >= count]):
            raise ValueError(f"there is no GPU {beyond[0]}: gpus is {count}, counted from 0")
        return numa

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """Its GPUs by index; empty for a host without GPUs, or one whose GPUs nobody wrote down."""
        node_of = {gpu: node for node, gpus in self.numa.items() for gpu in gpus}
        return tuple(Gpu(index, node_of.get(index)) for index in sorted({*node_of, *range(self.gpu_count or 0)}))

    def __hash__(self) -> int:
        return hash((self.name, self.address, self.port))
