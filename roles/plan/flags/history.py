"""A flag that a release does not have -> when it came, when it went, and what stands in its place."""

from __future__ import annotations

from roles.inventory.nearest import did_you_mean
from roles.plan.flags.table import Option, Options, in_order, known_releases, options_of

# What the help of the last release that had it did not say. Source: the release notes and the code of the next one.
STEERED = {
    "--max-micro-batch-size": "--pp-max-micro-batch-size",
    "--enable-ep-moe": "--ep-size with --moe-runner-backend",
    "--enable-deepep-moe": "--moe-a2a-backend deepep",
    "--enable-flashinfer-cutlass-moe": "--moe-runner-backend flashinfer_cutlass",
    "--enable-flashinfer-trtllm-moe": "--moe-runner-backend flashinfer_trtllm",
    "--enable-flashinfer-mxfp4-moe": "--moe-runner-backend flashinfer_mxfp4",
    "--enable-triton-kernel-moe": "--moe-runner-backend triton_kernel",
    "--enable-flashinfer-moe": "--moe-runner-backend flashinfer_cutlass",
    "--impl": "--model-impl",
}


def absent(flag: str, version: str, options: Options) -> tuple[str, str]:
    """(what is wrong, what to do) for a flag that `version` does not have."""
    had = [release for release in known_releases() if flag in options_of(release)]
    before = [release for release in had if in_order(release) < in_order(version)]
    if before:
        gone = next(release for release in known_releases() if in_order(release) > in_order(before[-1]))
        instead = replacement(flag, before[-1], options)
        what = f"{flag} was removed in {gone}"
        return (f"{what}: {instead}", f"write {_key(instead)}") if instead else (what, "leave it out")
    if had:
        older = predecessor(flag, had[0], options)
        what = f"{flag} came with {had[0]}"
        return (f"{what}; before that it is {older}", f"write {_key(older)}") if older else (what, "leave it out")
    if "_" in flag and flag.replace("_", "-") in options:
        return f"{flag} is not a flag: SGLang spells its flags with hyphens", f"write {flag.replace('_', '-')}"
    guess = did_you_mean(flag, options).removeprefix("; ")
    return f"{flag} is not a flag of SGLang {version}", guess or "leave it out"


def replacement(flag: str, last: str, options: Options) -> str:
    """What stands in the place of a flag whose last release was `last`, if the new release has it."""
    stated = options_of(last)[flag].deprecated or STEERED.get(flag, "")
    return stated if stated and _exists(stated, options) else ""


def predecessor(flag: str, first: str, options: Options) -> str:
    """The older name of a flag that came with `first`: the one that was steered to it later."""
    for release in known_releases()[known_releases().index(first) :]:
        for old, option in options_of(release).items():
            if old in options and _steers_to(option, flag):
                return old
    return ""


def _steers_to(option: Option, flag: str) -> bool:
    return option.deprecated == flag


def _exists(steer: str, options: Options) -> bool:
    return steer.replace("{decode,prefill}", "decode").replace("=", " ").split()[0] in options


def _key(steer: str) -> str:
    """A flag as a profile writes it: `--dsa-decode-backend` is flags.dsa_decode_backend."""
    flag, _, value = steer.partition("=")
    if " " in flag or "{" in flag:
        return steer
    key = "flags." + flag.removeprefix("--").replace("-", "_")
    return f"{key}: {value}" if value else key
