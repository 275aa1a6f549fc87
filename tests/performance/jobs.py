"""One job as each tool does it: facts, lease, predecessor ended, launch script put, started, pid and first line back.

Each function gives the command line of one whole process that does the job on all hosts at once. All but allranks run
the shell script same_work.sh there: `ssh` in one piece, the others step by step and the launch script by their own way
to put a file, as their documentation shows. The nonce in the server's first line proves whose start was read back.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from roles.lab import LabHost

HERE = Path(__file__).parent
LAUNCH = HERE / "launch.sh"
PREAMBLE, *_STEPS = re.split(r"(?m)^#: (\w+)\n", (HERE / "same_work.sh").read_text())
STEPS = dict(zip(_STEPS[::2], _STEPS[1::2], strict=True))
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


def steps(nonce: str) -> list[str]:
    """The job's steps, each a script of its own; the launch script is to be put before the fourth, `start`."""
    return [f"nonce={nonce}\n{PREAMBLE}{text}" for text in STEPS.values()]


def whole(nonce: str) -> str:
    """The job as one script, the launch script in it."""
    placed = f"cat >launch.sh.new <<'END'\n{LAUNCH.read_text()}END\nchmod 700 launch.sh.new\n"
    facts, lease, stop, *rest = STEPS.values()
    return "".join([f"nonce={nonce}\n", PREAMBLE, facts, lease, stop, placed, *rest])


def raw_ssh(lab: Lab, work: Path, nonce: str, *, options: str = "", least: bool = False) -> list[str]:
    """One `ssh` per host, all at once, the script on stdin. `least`: the shortest script that starts a server anew."""
    job = work / "job.sh"
    job.write_text(f"nonce={nonce}\n{(HERE / 'start_only.sh').read_text()}" if least else whole(nonce))
    ssh = f"ssh {options} -F {lab.ssh_config} @ sh -s < {job}"
    return ["sh", "-c", f"printf '%s\\n' {' '.join(lab.names)} | xargs -P {len(lab.hosts)} -I@ sh -c '{ssh}'"]


def allranks(lab: Lab, work: Path, nonce: str) -> list[str]:
    """Facts, lease, stop of the predecessor, start, pid back, first log line: the verbs of `inv deploy`."""
    return [sys.executable, "-m", "tests.performance.allranks_job", str(lab.folder.parent), nonce, *lab.names]


def fabric(lab: Lab, work: Path, nonce: str) -> list[str]:
    """A ThreadingGroup as Fabric's documentation shows it."""
    program = work / "fabric_job.py"
    program.write_text(
        textwrap.dedent(
            f"""
            from fabric import Config, ThreadingGroup
            group = ThreadingGroup(*{lab.names!r}, config=Config(runtime_ssh_path={str(lab.ssh_config)!r}))
            facts, lease, stop, start, read = {steps(nonce)!r}
            for step in facts, lease, stop:
                group.run(step, hide=True)
            group.put({str(LAUNCH)!r}, "job/launch.sh.new")
            group.run(start, hide=True)
            for connection, result in group.run(read, hide=True).items():
                assert "ready {nonce}" in result.stdout
                print(connection.host, result.stdout.split()[0])
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
            facts, lease, stop, start, read = {steps(nonce)!r}
            for step in facts, lease, stop:
                server.shell(commands=[step])
            files.put(src={str(LAUNCH)!r}, dest="job/launch.sh.new", mode="755")
            server.shell(commands=[start])
            server.shell(commands=[read])
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


def ansible(lab: Lab, work: Path, nonce: str, *, tuned: bool = False) -> list[str]:
    """copy and shell. As it comes: 5 hosts at once, modules as files. `tuned`: all at once, pipelined, free."""
    (work / "hosts.ini").write_text("".join(f"{name}\n" for name in lab.names))
    (work / "ansible.cfg").write_text(TUNED.format(forks=len(lab.hosts)) if tuned else "")
    facts, lease, stop, start, read = ({"shell": {"cmd": step}} for step in steps(nonce))
    put = {"copy": {"src": str(LAUNCH), "dest": "job/launch.sh.new", "mode": "preserve"}}
    play = {
        "hosts": "all",
        "gather_facts": False,  # those that are needed are asked for in the first step
        "strategy": "free" if tuned else "linear",
        "vars": {"ansible_python_interpreter": "/usr/bin/python3"},
        "tasks": [facts, lease, stop, put, start, read],
    }
    (work / "play.yml").write_text(json.dumps([play]))  # JSON is YAML
    # Its own options for ssh are among them, since naming any takes them away; its sockets are the work folder's.
    ssh = f"-F {lab.ssh_config} -C -o ControlMaster=auto -o ControlPersist=60s"
    named = {"CONFIG": f"{work}/ansible.cfg", "SSH_ARGS": ssh, "SSH_CONTROL_PATH_DIR": f"{work}/cp"}
    program = [str(tools(lab) / "ansible-playbook"), "-i", f"{work}/hosts.ini", f"{work}/play.yml"]
    return ["env", *(f"ANSIBLE_{name}={value}" for name, value in named.items()), *program]


def tools(lab: Lab) -> Path:
    """The programs of the peers' own virtual environment (bench.py makes it)."""
    return lab.folder.parent / "peers" / "bin"
