"""Python, virtual environment, SGLang and what its kernels need, as a non-login shell sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from roles.check.finding import Finding, Node, described
from roles.plan.flags.table import in_order

KERNELS = ("sgl_kernel", "sglang_kernel", "flashinfer_python")  # SGLang asserts their versions when it starts
COMPILES = ("flashinfer", "cutlass", "deep_gemm")  # values of backend flags whose kernels are built at first use


def look(node: Node) -> Iterator[Finding]:
    """Is the right SGLang there, with what it needs?"""
    venv = node.facts.get("venv")
    if not venv:
        return
    if not venv.get("exists"):
        yield node.refusal(
            "python", f"there is no Python at {venv['python']}", node.correct("correct `venv` in the inventory")
        )
        return
    if not venv.get("sglang"):
        what = f"{venv['python']} has no sglang"
        yield node.refusal("sglang", what, "install it there, or correct `venv`")
        return
    yield _version(node, str(venv["sglang"]), str(venv["python"]))
    if node.node.gpus:
        software = node.look("software")
        yield from _kernels(node, software)
        yield from _cuda(node, software)
        yield from _compiler(node, software)
    yield from _locks(node)


def _version(node: Node, installed: str, python: str) -> Finding:
    wanted = node.plan.profile.sglang
    if wanted and installed not in (wanted, "unknown"):
        do = f"{python} -m pip install sglang=={wanted}, or correct `sglang` in profile {node.plan.profile.name}"
        return node.refusal("sglang", f"SGLang {installed} is installed", do, wanted)
    return node.ok("sglang", f"SGLang {installed} in {python}")


def _kernels(node: Node, software: Mapping[str, Any]) -> Iterator[Finding]:
    pins, there = software.get("pins") or {}, software.get("packages") or {}
    for name in KERNELS:
        if name not in pins:
            continue
        has, needs = there.get(name), pins[name]
        if has is None:
            yield node.warning(
                "kernels", f"{name} is not installed", f"pip install {name.replace('_', '-')}=={needs}", needs
            )
        elif in_order(has) < in_order(needs):
            what = f"{name} {has} is older than the one this SGLang was released with"
            yield node.warning("kernels", what, f"pip install {name.replace('_', '-')}=={needs}", needs)


def _cuda(node: Node, software: Mapping[str, Any]) -> Iterator[Finding]:
    """torch's CUDA against the driver: a newer major never works, a newer minor only by compatibility."""
    build = re.search(r"\+cu(\d+)(\d)$", str((software.get("packages") or {}).get("torch") or ""))
    driver = node.look("cards").get("cuda")
    if not build or not driver:
        return
    wants, has = (int(build[1]), int(build[2])), tuple(in_order(driver))
    what = f"torch is built for CUDA {wants[0]}.{wants[1]}, the driver is for {driver}"
    if wants[0] > has[0]:
        yield node.refusal("driver", what, "update the driver, or install a torch for the driver's CUDA")
    elif wants > has:
        yield node.warning("driver", what, "update the driver if a kernel cannot be loaded")
    else:
        yield node.ok("driver", what)


def _compiler(node: Node, software: Mapping[str, Any]) -> Iterator[Finding]:
    flags = node.plan.profile.flags
    compiled = [f"{key}: {value}" for key, value in flags.items() if str(value).startswith(COMPILES)]
    programs = software.get("programs") or {}
    if not compiled or not programs:
        return
    if not programs.get("nvcc") and not software.get("cuda_home_has_nvcc"):
        home = software.get("cuda_home")
        what = "nvcc is neither on the PATH of a non-login shell nor in " + (
            f"CUDA_HOME ({home})" if home else "CUDA_HOME"
        )
        yield node.warning("compiler", f"{what}, and {compiled[0]} compiles kernels", "set environment.CUDA_HOME")
    if not programs.get("ninja"):
        yield node.warning("compiler", f"there is no ninja, and {compiled[0]} compiles kernels", "pip install ninja")


def _locks(node: Node) -> Iterator[Finding]:
    """A build that was killed leaves a file, and the next waits for it without a word."""
    for lock in node.look("software").get("jit_locks") or []:
        if lock["holder"] is not None:
            what = f"a kernel is being built: {lock['path']} is held by {described(lock['holder'])}"
            yield node.warning("locks", what, "wait for it, or end it if it hangs: a server's own build waits for it")
        elif lock["keep"] is None:
            what = f"{lock['path']} was left by a build that was killed: the next one waits for it for ever"
            yield node.warning("locks", what, "inv check --fix, or remove it")
        else:
            what = (
                f"{lock['path']} is there, and nobody is seen here who holds it ({lock['keep']}): a build waits for it"
            )
            yield node.warning("locks", what, "remove it if nobody builds there, on whatever host or in a container")


def alike(nodes: Sequence[Node]) -> Iterator[Finding]:
    """All nodes must run the same SGLang."""
    versions = {str((node.facts.get("venv") or {}).get("sglang")) for node in nodes} - {"None", "unknown"}
    if len(versions) > 1:
        which = ", ".join(f"{(node.facts.get('venv') or {}).get('sglang')} on {node.name}" for node in nodes)
        yield Finding(
            "refusal",
            "sglang",
            nodes[0].plan.name,
            f"the hosts have different SGLang versions: {which}",
            "install the same",
        )
