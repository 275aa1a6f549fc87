"""nvidia-smi -> GPUs, their memory and who holds it. A host without it simply has none."""

from __future__ import annotations

from .programs import which

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import Any, Dict, List, Optional, Tuple

    Row = Dict[str, Any]

PATIENCE = 15.0  # seconds; without persistence mode the driver may need several to wake up


def query(what: str, fields: str) -> Optional["subprocess.Popen[bytes]"]:
    """Start asking; None when there is no nvidia-smi."""
    program = which("nvidia-smi") or which("nvidia-smi", path="/usr/bin:/usr/local/bin:/usr/lib/wsl/lib")
    if not program:
        return None
    import subprocess  # 3 ms; a host without GPUs does without

    argv = [program, f"--query-{what}={fields}", "--format=csv,noheader,nounits"]
    return subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=True
    )


def answer(asked: "subprocess.Popen[bytes]", patience: float = PATIENCE) -> Tuple[List[List[str]], Optional[str]]:
    """(rows, error). A driver that hangs is left alone: waiting for it would hang us too."""
    import subprocess

    try:
        out = asked.communicate(timeout=patience)[0].decode("utf-8", "replace").strip()
    except subprocess.TimeoutExpired:
        asked.kill()
        return [], f"nvidia-smi has not answered within {patience:.0f} s"
    if asked.returncode != 0:
        return [], (out.splitlines() or ["nvidia-smi failed"])[-1][:300]
    return [[cell.strip() for cell in line.split(",")] for line in out.splitlines() if "," in line], None


def number(text: str) -> Optional[int]:
    """A cell as a whole number; nvidia-smi writes [N/A] where it does not know."""
    try:
        return int(float(text))
    except ValueError:
        return None


def ask_gpus() -> Optional["subprocess.Popen[bytes]"]:
    """Ask for the GPUs and their memory."""
    return query("gpu", "index,name,uuid,memory.total,memory.used")


def gpus(asked: Optional["subprocess.Popen[bytes]"]) -> Tuple[List[Row], Optional[str]]:
    """(GPUs with MiB, error)."""
    rows, error = answer(asked) if asked else ([], None)
    return [
        {"index": number(r[0]), "name": ",".join(r[1:-3]), "uuid": r[-3], "total_mib": number(r[-2]),
         "used_mib": number(r[-1])}
        for r in rows
        if len(r) >= 5
    ], error  # fmt: skip


def memory() -> List[Row]:
    """index, used and total MiB of each GPU; [] when they cannot be asked."""
    return [{key: gpu[key] for key in ("index", "used_mib", "total_mib")} for gpu in gpus(ask_gpus())[0]]


def ask_holders() -> Optional["subprocess.Popen[bytes]"]:
    """Ask which processes hold GPU memory."""
    return query("compute-apps", "gpu_uuid,pid,used_memory")


def holders(asked: Optional["subprocess.Popen[bytes]"], found: List[Row]) -> List[Row]:
    """(GPU index, pid, MiB) of each process. In a container the pid may be one of the machine outside, or hidden."""
    index = {gpu["uuid"]: gpu["index"] for gpu in found}
    rows, _ = answer(asked) if asked else ([], None)
    return [{"index": index.get(r[0]), "pid": number(r[1]), "used_mib": number(r[2])} for r in rows if len(r) == 3]
