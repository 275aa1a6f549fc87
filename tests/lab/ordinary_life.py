"""An ordinary user's lab from up to down: ordinary_life.py FOLDER KIND. Prints what was seen as one JSON line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import roles.lab
from roles.lab import LabHost
from roles.lab.process import Process, wait_until


def main(root: Path, kind: str) -> None:
    said: list[str] = []
    rows = roles.lab.up(root, 2, kind, said.append)
    first, second = roles.lab.lab_hosts(root)
    ssh = ["ssh", "-F", str(first.folder.ssh_config)]
    master = [
        *ssh,
        "-o",
        "ControlMaster=yes",
        "-o",
        "ControlPersist=yes",
        "-o",
        f"ControlPath={root}/mux",
        "lab2",
        "true",
    ]
    subprocess.run(master, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen: dict[str, object] = {
        "said": said,
        "up": [row["up"] for row in rows],
        "home": _asked(ssh, "lab1", "echo $HOME; pwd"),
        "left behind": _asked(ssh, "lab2", "setsid sleep 600 > /dev/null 2>&1 < /dev/null & echo begun"),
        "sftp": _sent(ssh, root),
        "hurt": _hurt(second),
    }
    if kind != "loopback":  # a file of another user of the host's, which is none of this machine's
        second.exec(["install", "-d", "-o", "1000", "-m", "700", "/tmp/theirs", "/tmp/theirs/too"])
    running = [Process.of(pid) for host in (first, second) for pid in host.pids()]
    roles.lab.down(root, said.append)
    seen["ended"] = len(running)
    seen["gone"] = wait_until(lambda: not any(process.alive for process in running), 5)
    seen["left"] = sorted(path.name for path in (root / ".lab").iterdir())
    print(json.dumps(seen))


def _asked(ssh: list[str], host: str, command: str) -> str:
    return subprocess.run([*ssh, host, command], capture_output=True, text=True, check=False).stdout


def _sent(ssh: list[str], root: Path) -> str:
    (root / "sent").write_text("as it was")
    sftp = ["sftp", "-q", "-b", "-", *ssh[1:], "lab1"]
    subprocess.run(sftp, input=f"put {root}/sent received\n", text=True, check=True, stdout=subprocess.DEVNULL)
    return _asked(ssh, "lab1", "cat ~/received")


def _hurt(host: LabHost) -> list[bool]:
    """Whether it answers: with sshd stopped, started, after a crash, after a boot."""
    answers = []
    for verb in (host.sshd_stop, host.sshd_start, host.crash, host.boot):
        verb()
        answers.append(host.answers(1))
    return answers


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
