"""What a deploy costs its host, verb by verb: `python -m tests.performance.onhost [ROUNDS]`.

On one lab host of this machine. CPU is that of the on-host program's process with all its threads, and of the login's
shell whose process it was before; "Python alone" is the same for a program that does nothing. launch.sh is run here,
with a server that ends at once.
"""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from roles import lab as labs
from roles.inventory import Host, Inventory, load
from roles.lab import LabHost
from roles.onhost import proc
from roles.plan import plan_for
from roles.remote import Remote
from tests.performance.allranks_job import job
from tests.performance.bench import prepared

IDLE = "import os, sys; print(os.getpid(), flush=True); sys.stdin.readline(); os._exit(0)"


def cpu(pid: int) -> float:
    """CPU of a process and all its threads since it was forked, milliseconds (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2) * 1000


def newest(host: LabHost, words: bytes) -> int:
    """The process of the host whose command line has these words, by this machine's number."""
    found = [pid for pid in host.pids() if words in (proc.read(f"/proc/{pid}/cmdline") or b"")]
    assert len(found) == 1, found
    return found[0]


def alone(host: LabHost, remote: Remote) -> float:
    """A start of Python as ours is started."""
    channel = remote.channel()
    channel.exec_command(f"exec python3 -I -S -c '{IDLE}'")
    channel.makefile().readline()
    used = cpu(newest(host, IDLE.encode()))
    channel.close()
    return used


def verbs(host: LabHost, inventory: Inventory) -> dict[str, float]:
    """One deploy, with a predecessor to stop."""
    used: dict[str, float] = {}
    pid: list[int] = []

    def done(step: str) -> None:
        pid[:] = pid or [newest(host, b".pyz\0serve")]
        used[step] = cpu(pid[0]) - sum(used.values())

    profile = inventory.profile("bench", [f"environment.NONCE={secrets.token_hex(6)}"])
    job(profile, inventory.host(host.name), done)
    return {**used, "all verbs": sum(used.values())}


def script(inventory: Inventory, host: Host, folder: Path) -> float:
    """One run of launch.sh, with a server that does nothing."""
    server = folder / "bin/python"
    if not server.exists():
        server.parent.mkdir()
        server.symlink_to("/bin/true")
    plan = plan_for(inventory.profile("bench", [f"venv={folder}", "environment.NONCE=x"]), [host])
    (folder / "launch.sh").write_text(plan.nodes[0].script)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["bash", str(folder / "launch.sh")], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main(rounds: int) -> None:
    """A line for each step: median, fewest and most."""
    root = Path(tempfile.mkdtemp(prefix="allranks-onhost-", dir=os.environ.get("TMPDIR", "/tmp")))
    root.chmod(0o755)
    try:
        prepared(root, 1, peers=False)
        (host,), inventory = labs.lab_hosts(root), load(root)
        with_scripts = root / "script"
        with_scripts.mkdir()
        found: list[dict[str, float]] = []
        for _ in range(rounds + 2):
            row = verbs(host, inventory)
            remote = Remote(inventory.host(host.name))
            row["Python alone"] = alone(host, remote)
            remote.close()
            row["launch.sh"] = script(inventory, inventory.host(host.name), with_scripts)
            found.append(row)
        for name in found[-1]:  # the first round brings the program, the second is the first with a predecessor
            samples = [row[name] for row in found[2:]]
            print(f"{name}: {statistics.median(samples):.1f} ms ({min(samples):.1f} to {max(samples):.1f})")
    finally:
        labs.down(root, lambda _: None)
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
