"""`make bench`: allranks beside its peers on the same lab hosts, one run, interleaved, medians and ratios."""

from __future__ import annotations

import argparse
import os
import platform
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path

from roles import lab as labs
from tests.performance import jobs, page
from tests.performance.jobs import Lab

REPOSITORY = Path(__file__).resolve().parents[2]
PEERS = ("pyinfra==3.10.0", "ansible-core==2.19.14")
PROFILE = """\
model: /root/model
venv: /root/server
port: 31999
timeouts: {stop: 5}
"""
# Stands in for a Python with SGLang: as the server it says its line and sleeps; asked for SGLang's parser it objects to
# nothing, which the host remembers, as it does of the real one.
STANDIN = """\
#!/bin/sh
[ "$2" = sglang.launch_server ] || { cat >/dev/null; echo '{"error": null, "halves": {}}'; exit; }
echo "ready $NONCE"
exec sleep 600
"""

Tool = Callable[[Lab, Path, str], list[str]]
BASE, CURVE = "raw ssh", "raw ssh, curve25519"
TOOLS: dict[str, Tool] = {
    BASE: jobs.raw_ssh,
    CURVE: partial(jobs.raw_ssh, options=jobs.CURVE),
    "raw ssh, curve25519, start only": partial(jobs.raw_ssh, options=jobs.CURVE, least=True),
    "allranks": jobs.allranks,
    "Fabric group": jobs.fabric,
    "pyinfra": jobs.pyinfra,
    "Ansible, tuned": partial(jobs.ansible, tuned=True),
    "Ansible": jobs.ansible,
}
SLOW = {"Ansible": 2, "Ansible, tuned": 2, "pyinfra": 3}  # rounds at most: they take long and vary little
MOST = {"Ansible": 32, "Ansible, tuned": 32}  # hosts: at 64 a round of it would take most of a minute


def measure(tool: Tool, lab: Lab) -> tuple[float, float]:
    """Run one tool once on all hosts: wall seconds, CPU seconds of it and its children on this side."""
    work = Path(tempfile.mkdtemp(dir=lab.folder.parent, prefix="work-"))
    nonce = secrets.token_hex(6)
    try:
        command = tool(lab, work, nonce)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            command, cwd=REPOSITORY, env=environment(), capture_output=True, text=True, check=False, timeout=600
        )
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment() -> dict[str, str]:
    """As a user has it: Python keeps what it has compiled, for us and for the others."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def rounds(lab: Lab, tools: list[str], count: int) -> dict[str, list[tuple[float, float]]]:
    """The tools in turn, round after round, so that a slow minute of the machine falls on all of them."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in tools}
    for number in range(count + 1):
        for name in tools:
            if number > SLOW.get(name, count) or len(lab.hosts) > MOST.get(name, len(lab.hosts)):
                continue
            sample = measure(TOOLS[name], lab)
            if number:  # round 0 warms caches, and puts our program on the hosts
                found[name].append(sample)
    return found


def prepared(root: Path, most: int, *, peers: bool) -> None:
    """The folder of a lab with `most` hosts, a profile for it, and the peers' virtual environment."""
    (root / "inventory/profiles").mkdir(parents=True, exist_ok=True)
    (root / "inventory/hosts.yml").write_text("hosts: {}\ngroups: {}\n")
    (root / "inventory/profiles/bench.yml").write_text(PROFILE)
    labs.up(root, most, "auto", lambda text: print(text, file=sys.stderr))
    for host in labs.lab_hosts(root):
        script = (
            "mkdir -p server/bin model server/lib/python3.11/site-packages/sglang-0.5.23.dist-info && "
            "cat > server/bin/python && chmod 755 server/bin/python"
        )
        done = subprocess.run(
            ["ssh", "-F", str(root / ".lab/ssh_config"), host.name, script], input=STANDIN, text=True, check=False
        )
        assert done.returncode == 0, host.name
    if peers and not (root / "peers/bin/pyinfra").exists():
        venv.create(root / "peers", with_pip=True)
        pip = [str(root / "peers/bin/python"), "-m", "pip", "install", "--quiet", *PEERS]
        subprocess.run(pip, check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    """Measure and write the page, or only print (`--short`: what CI shows)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", default="1,8,32,64", help="numbers of hosts, comma separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--short", action="store_true", help="8 hosts, 3 rounds, raw ssh and allranks; prints ratios, writes nothing"
    )
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # its hosts are ended all the same
    numbers = [8] if chosen.short else [int(number) for number in chosen.hosts.split(",")]
    tools = [BASE, CURVE, "allranks"] if chosen.short else list(TOOLS)
    root = Path(tempfile.mkdtemp(prefix="allranks-bench-", dir=os.environ.get("TMPDIR", "/tmp")))
    root.chmod(0o755)
    try:
        prepared(root, max(numbers), peers=not chosen.short)
        results = {}
        for number in numbers:
            lab = Lab(root / ".lab", tuple(labs.lab_hosts(root)[:number]))
            results[number] = rounds(lab, tools, 3 if chosen.short else chosen.rounds)
            print(page.table({number: results[number]}), flush=True)
    finally:
        labs.down(root, lambda _: None)
        shutil.rmtree(root, ignore_errors=True)
    if not chosen.short:
        page.write(REPOSITORY / "docs/performance.md", results, machine())


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "?",
    )
    ssh = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=False).stderr.strip()
    return {
        "cores": str(os.cpu_count()),
        "CPU": cpu,
        "kernel": platform.release(),
        "Python": platform.python_version(),
        "OpenSSH": ssh.split(",")[0],
        "peers": ", ".join(PEERS),
        "date": time.strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    main()
