"""A profile: which model is served how. Everything but the hosts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationInfo, field_validator

from roles.inventory.flags import ExtraArgument, Flag, FlagName, spelled
from roles.inventory.owned import check_reaches, check_variable
from roles.inventory.shapes import (
    AbsolutePath,
    Address,
    Count,
    Index,
    Name,
    OneLine,
    Port,
    Seconds,
    SecretReference,
    Shape,
    Switch,
    VariableName,
    Version,
    Written,
)

_FROZEN = ConfigDict(frozen=True, extra="forbid")
Variable = Annotated[VariableName, AfterValidator(check_reaches)]
PlainVariable = Annotated[Variable, AfterValidator(check_variable)]
# check_server_args refuses a colon in the served name: it separates LoRA adapters.
StageName = Literal["waiting", "starting", "distributed", "loading", "loaded", "memory", "capturing", "ready"]
LimitName = Literal["nofile", "nproc", "memlock", "stack", "core", "as", "fsize"]
Limit = Annotated[int, Strict(), Field(ge=0, le=2**53)] | Literal["unlimited"]
ServedName = Annotated[OneLine, Shape("[^:]+", "a name without ':'")]


class Layout(BaseModel):
    """How the model is spread. World size is tp x pp, times dp unless flags.enable_dp_attention is on."""

    model_config = _FROZEN

    tp: Count = Field(default=1, description="Tensor parallel size, over all nodes.")
    pp: Count = Field(default=1, description="Pipeline stages.")
    dp: Count = Field(
        default=1, description="Data parallel replicas; with flags.enable_dp_attention, attention groups."
    )
    ep: Count = Field(default=1, description="Expert parallel size; a divisor of tp.")
    nnodes: Count = Field(
        default=1, description="Hosts that one deployment is spread over. Without it as many as are named."
    )


class Timeouts(BaseModel):
    """How long to wait, in seconds."""

    model_config = _FROZEN

    # SGLang's own health check answers within 20 s, and never in less than 1 s.
    health: Seconds = Field(default=25, description="Seconds for one answer of /health.")
    stop: Seconds = Field(default=60, description="Seconds for the server to drain and end before it is killed.")
    generation: Seconds = Field(
        default=600, description="Seconds for the first generation (kernels may be compiled in it)."
    )
    stall: Seconds = Field(default=1800, description="Seconds without any sign of a rank before it is called stalled.")
    stages: dict[StageName, Seconds] = Field(
        default={}, description="The same for single stages, by name, where they need another limit."
    )


class Profile(BaseModel):
    """How one model is served."""

    model_config = _FROZEN

    name: Name = Field(description="The file's name without .yml.")
    model: OneLine = Field(
        description="Hub name, absolute path on the host, or host:NAME for NAME in the host's models folder."
    )
    served_model_name: ServedName | None = Field(
        default=None, description="Name that clients ask for. Without it the model."
    )
    layout: Layout = Field(default_factory=Layout, description="Parallel sizes and number of hosts.")
    host: Address = Field(default="0.0.0.0", description="Address the HTTP server binds on each host.")
    port: Port = Field(default=30000, description="HTTP port.")
    flags: dict[FlagName, Flag] = Field(
        default={}, description="SGLang flags with underscores; true is a bare flag, false and null leave it out."
    )
    extra_args: tuple[ExtraArgument, ...] = Field(
        default=(), description="Further arguments, word by word, after the flags."
    )
    environment: dict[PlainVariable, Written] = Field(default={}, description="Environment variables, kept as written.")
    secrets: dict[Variable, SecretReference] = Field(
        default={},
        description="Environment variables by reference: env:NAME or file:PATH on the machine you deploy from.",
    )
    limits: dict[LimitName, Limit] = Field(
        default={},
        description="Limits that the launch script sets, by their names in limits.conf, as ulimit takes them.",
    )
    gpus: tuple[Index, ...] | None = Field(
        default=None, description="GPUs to use on each host, by index. Without it the first ones."
    )
    dist_port: Port = Field(default=20000, description="Port on the first host at which several nodes meet.")
    log: AbsolutePath | None = Field(default=None, description="A link to the run's log is put here on each host.")
    venv: AbsolutePath | None = Field(
        default=None, description="Virtual environment on the host, instead of the host's own."
    )
    sglang: Version | None = Field(default=None, description="SGLang version that must be installed.")
    allow_different: tuple[VariableName, ...] = Field(
        default=(),
        description="Settings and variables that may run otherwise than planned, and it is called up all the same.",
    )
    graphs: Switch | None = Field(
        default=None, description="Whether ranks capture CUDA graphs. Without it, told by the flags or by the log."
    )
    timeouts: Timeouts = Field(default_factory=Timeouts, description="How long to wait for what.")

    @field_validator("extra_args")
    @classmethod
    def _no_flag_twice(cls, arguments: tuple[str, ...], known: ValidationInfo) -> tuple[str, ...]:
        flags = {spelled(key): key for key in known.data.get("flags", {})}
        for argument in arguments:
            if key := flags.get(argument.partition("=")[0]):
                raise ValueError(f"{argument} repeats flags.{key}; keep one")
        return arguments

    @field_validator("secrets")
    @classmethod
    def _no_variable_twice(cls, secrets: dict[str, str], known: ValidationInfo) -> dict[str, str]:
        if both := sorted(secrets.keys() & known.data.get("environment", {}).keys()):
            raise ValueError(f"{both[0]} is in environment too; keep one")
        return secrets

    @field_validator("gpus")
    @classmethod
    def _no_gpu_twice(cls, gpus: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if gpus is not None and len(set(gpus)) < len(gpus):
            raise ValueError(f"a GPU is named twice: {list(gpus)}")
        return gpus

    @property
    def attention_dp(self) -> bool:
        """Whether dp splits the attention of one TP group rather than adding replicas of the model."""
        return self.layout.dp > 1 and self.flags.get("enable_dp_attention") is True
