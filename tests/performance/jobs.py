"""One job as each tool does it: facts, lease, predecessor ended, launch script put, started, pid and first line back.

Each function gives the command line of one whole process that does the job on all hosts at once. All but allranks run
the same shell script there; the nonce in the server's first line proves whose start was read back.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from roles.lab import LabHost

HERE = Path(__file__).parent
SAME_WORK, START_ONLY = HERE / "same_work.sh", HERE / "start_only.sh"
CURVE = "-o KexAlgorithms=curve25519-sha256"


@dataclass(frozen=True)
class Lab:
    """The hosts of a measurement and the folder with their keys."""

    folder: Path
    hosts: tuple[LabHost, ...]

    @property
    def ssh_config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def names(self) -> list[str]:
        return [host.name for host in self.hosts]


def raw_ssh(lab: Lab, work: Path, nonce: str, *, options: str = "", script: Path = SAME_WORK) -> list[str]:
    """One `ssh` per host, all at once, the script on stdin."""
    ssh = f"ssh {options} -F {lab.ssh_config} @ sh -s {nonce} < {script}"
    return ["sh", "-c", f"printf '%s\\n' {' '.join(lab.names)} | xargs -P {len(lab.hosts)} -I@ sh -c '{ssh}'"]


def allranks(lab: Lab, work: Path, nonce: str) -> list[str]:
    """Facts, lease, stop of the predecessor, start, pid back, first log line: the verbs of `inv deploy`."""
    return [sys.executable, "-m", "tests.performance.allranks_job", str(lab.folder.parent), nonce, *lab.names]


def fabric(lab: Lab, work: Path, nonce: str) -> list[str]:
    """A ThreadingGroup as Fabric's documentation shows it: put the script, then run it."""
    program = work / "fabric_job.py"
    program.write_text(
        textwrap.dedent(
            f"""
            from fabric import Config, ThreadingGroup
            config = Config(runtime_ssh_path={str(lab.ssh_config)!r})
            group = ThreadingGroup(*{lab.names!r}, config=config)
            group.put({str(SAME_WORK)!r}, "job.sh")
            for connection, result in group.run("sh job.sh {nonce}", hide=True).items():
                assert "ready {nonce}" in result.stdout
                print(connection.host, result.stdout.splitlines()[-2])
            """
        )
    )
    return [sys.executable, str(program)]


def pyinfra(lab: Lab, work: Path, nonce: str) -> list[str]:
    """files.put and server.shell, its own parallelism."""
    (work / "inventory.py").write_text(
        f"hosts = [(name, {{'ssh_config_file': {str(lab.ssh_config)!r}}}) for name in {lab.names!r}]\n"
    )
    (work / "deploy.py").write_text(
        textwrap.dedent(
            f"""
            from pyinfra.operations import files, server
            files.put(src={str(SAME_WORK)!r}, dest="job.sh", mode="755")
            server.shell(commands=["sh job.sh {nonce}"])
            """
        )
    )
    return [str(tools(lab) / "pyinfra"), "-y", str(work / "inventory.py"), str(work / "deploy.py")]


TUNED = """
[defaults]
forks = {forks}
[ssh_connection]
pipelining = True
"""
PLAY = """
- hosts: all
  gather_facts: false
  strategy: {strategy}
  vars: {{ansible_python_interpreter: /usr/bin/python3}}
  tasks:
    - copy: {{src: "{script}", dest: job.sh, mode: "0755"}}
    - shell: sh job.sh {nonce}
"""


def ansible(lab: Lab, work: Path, nonce: str, *, tuned: bool = False) -> list[str]:
    """copy and shell. As it comes: 5 hosts at once, its modules as files. `tuned`: all at once, pipelined."""
    (work / "hosts.ini").write_text("".join(f"{name}\n" for name in lab.names))
    (work / "ansible.cfg").write_text(TUNED.format(forks=len(lab.hosts)) if tuned else "")
    strategy = "free" if tuned else "linear"
    (work / "play.yml").write_text(PLAY.format(strategy=strategy, script=SAME_WORK, nonce=nonce))
    # Its own options for ssh are in there too, since naming any takes them away; sockets of our own, ended below.
    ssh = f"-F {lab.ssh_config} -C -o ControlMaster=auto -o ControlPersist=60s"
    play = f"{tools(lab)}/ansible-playbook -i {work}/hosts.ini {work}/play.yml"
    settings = [
        f"ANSIBLE_CONFIG={work}/ansible.cfg",
        f"ANSIBLE_SSH_ARGS={ssh}",
        f"ANSIBLE_SSH_CONTROL_PATH_DIR={work}/cp",
    ]
    return ["env", *settings, *play.split()]


def tools(lab: Lab) -> Path:
    """The programs of the peers' own virtual environment (bench.py makes it)."""
    return lab.folder.parent / "peers" / "bin"
