"""A plan's node -> what its host is asked to look at closely (onhost/look.py)."""

from __future__ import annotations

from typing import Any

from roles.inventory import Host
from roles.plan import NodePlan, Plan
from roles.plan.flags.offline import flags_of

SSH_PORT = 22


def question(plan: Plan, node: NodePlan) -> dict[str, Any]:
    """The `look` of a facts request. The other nodes are asked for at their SSH port, never at a rendezvous port."""
    peers = [peer(other.host) for other in plan.nodes if other.node != node.node]
    return {
        "argv": list(flags_of(node.argv)),
        "environment": dict(node.environment),
        "python": node.argv[0],
        "model": str(plan.expected["model_path"]),
        "weights": plan.profile.flags.get("load_format") != "dummy",
        "folders": ["/dev/shm", "/tmp", *folders_of(plan, node)],
        "internal": node.host.internal if len(plan.nodes) > 1 else None,
        "peers": peers,
        "gpus": plan.profile.flags.get("device") != "cpu",
    }


def peer(host: Host) -> dict[str, Any]:
    """How another host is to ask whether it reaches this one (onhost/nics.py)."""
    return {"name": host.name, "address": host.internal, "port": host.port or SSH_PORT}


# Variables and flags whose value is a folder that is written to.
FOLDERS = ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR",
           "TORCH_EXTENSIONS_DIR", "FLASHINFER_WORKSPACE_BASE", "TVM_FFI_CACHE_DIR", "SGLANG_DG_CACHE_DIR",
           "CUDA_CACHE_PATH", "SGLANG_TORCH_PROFILER_DIR", "TMPDIR")  # fmt: skip
FOLDER_FLAGS = ("download_dir", "crash_dump_folder", "file_storage_path", "export_metrics_to_file_dir")


def folders_of(plan: Plan, node: NodePlan) -> dict[str, str]:
    """The folders that a node writes into -> whose wish that is: work folder, the log's, those the profile names."""
    found = {node.host.workdir: "workdir"}
    if node.log:
        found.setdefault(folder_of(node.log), "log")
    for name in FOLDERS:
        if node.environment.get(name, "").startswith("/"):
            found.setdefault(node.environment[name], f"environment.{name}")
    for name in FOLDER_FLAGS:
        value = plan.profile.flags.get(name)
        if isinstance(value, str) and value.startswith("/"):
            found.setdefault(value, f"flags.{name}")
    return found


def folder_of(path: str) -> str:
    """The folder a file of the host lies in."""
    return path.rsplit("/", 1)[0] or "/"
