"""One job, as each tool does it: a launch script put, its predecessor ended, started detached, pid and first line back.

Each function gives the command line of one whole process that does the job on all hosts at once.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from roles.lab import LabHost

# What a careful person's shell script does on the host. The nonce in its log line proves whose start was read back.
SHELL = textwrap.dedent(
    """
    set -e
    mkdir -p job && cd job
    ss -ltn | grep -q ":31999 " && exit 3
    df -Pk . >/dev/null
    cat > run.sh.new <<'END'
    #!/bin/sh
    echo "ready $NONCE"
    exec sleep 600
    END
    chmod 755 run.sh.new && mv run.sh.new run.sh
    if [ -s pid ] && kill -0 "$(cat pid)" 2>/dev/null; then
        kill "$(cat pid)"; while kill -0 "$(cat pid)" 2>/dev/null; do sleep 0.01; done
    fi
    : > log
    NONCE=%s setsid nohup ./run.sh > log 2>&1 < /dev/null & echo $! > pid
    while ! grep -q "ready %s" log; do sleep 0.01; done
    cat pid; tail -n 5 log
    """
).lstrip()


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


def shell_job(work: Path, nonce: str) -> Path:
    """The shell script with its nonce, as a file."""
    path = work / "job.sh"
    path.write_text(SHELL % (nonce, nonce))
    return path


def raw_ssh(lab: Lab, work: Path, nonce: str, *, kex: str = "") -> list[str]:
    """One `ssh` per host, all at once, the script on stdin."""
    job, names = shell_job(work, nonce), " ".join(lab.names)
    option = f"-o KexAlgorithms={kex}" if kex else ""
    return [
        "sh",
        "-c",
        f"printf '%s\\n' {names} | "
        f"xargs -P {len(lab.hosts)} -I@ sh -c 'ssh {option} -F {lab.ssh_config} @ sh -s < {job}'",
    ]


def allranks(lab: Lab, work: Path, nonce: str) -> list[str]:
    """Facts, lease, stop of the predecessor, start, pid back, first log line: the verbs of `inv deploy`."""
    return [sys.executable, "-m", "tests.performance.allranks_job", str(lab.folder.parent), nonce, *lab.names]


def fabric(lab: Lab, work: Path, nonce: str) -> list[str]:
    """A ThreadingGroup as Fabric's documentation shows it: put the script, then run it."""
    shell_job(work, nonce)
    program = work / "fabric_job.py"
    program.write_text(
        textwrap.dedent(
            f"""
            from fabric import Config, ThreadingGroup
            config = Config(runtime_ssh_path={str(lab.ssh_config)!r})
            group = ThreadingGroup(*{lab.names!r}, config=config)
            group.put({str(work / "job.sh")!r}, "job.sh")
            for connection, result in group.run("sh job.sh", hide=True).items():
                assert {nonce!r} in result.stdout
                print(connection.host, result.stdout.split()[0])
            """
        )
    )
    return [sys.executable, str(program)]


def pyinfra(lab: Lab, work: Path, nonce: str) -> list[str]:
    """files.put and server.shell, its own parallelism."""
    shell_job(work, nonce)
    (work / "inventory.py").write_text(
        f"hosts = [(name, {{'ssh_config_file': {str(lab.ssh_config)!r}}}) for name in {lab.names!r}]\n"
    )
    (work / "deploy.py").write_text(
        textwrap.dedent(
            f"""
            from pyinfra.operations import files, server
            files.put(src={str(work / "job.sh")!r}, dest="job.sh", mode="755")
            server.shell(commands=["sh job.sh"])
            """
        )
    )
    return [str(tools(lab) / "pyinfra"), "-y", str(work / "inventory.py"), str(work / "deploy.py")]


def ansible(lab: Lab, work: Path, nonce: str) -> list[str]:
    """copy and shell, pipelining on, as many forks as hosts."""
    shell_job(work, nonce)
    (work / "hosts.ini").write_text("".join(f"{name}\n" for name in lab.names))
    (work / "ansible.cfg").write_text(
        textwrap.dedent(
            f"""
            [defaults]
            forks = {len(lab.hosts)}
            host_key_checking = True
            gathering = explicit
            [ssh_connection]
            pipelining = True
            control_path_dir = {work}/cp
            ssh_args = -F {lab.ssh_config} -o ControlMaster=auto -o ControlPersist=60s
            """
        )
    )
    (work / "play.yml").write_text(
        textwrap.dedent(
            f"""
            - hosts: all
              gather_facts: false
              strategy: free
              vars: {{ansible_python_interpreter: /usr/bin/python3}}
              tasks:
                - copy: {{src: "{work / "job.sh"}", dest: job.sh, mode: "0755"}}
                - shell: sh job.sh
            """
        )
    )
    return [
        "env",
        f"ANSIBLE_CONFIG={work}/ansible.cfg",
        str(tools(lab) / "ansible-playbook"),
        "-i",
        str(work / "hosts.ini"),
        str(work / "play.yml"),
    ]


def tools(lab: Lab) -> Path:
    """The programs of the peers' own virtual environment (bench.py makes it)."""
    return lab.folder.parent / "peers" / "bin"
