"""What tests of the real SGLang share: its committed profiles, a running command's words, and questions to its port."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from typing import Any

from roles.lab.host import LabHost
from tests.hosts.clone import REPOSITORY, Clone

OPT = REPOSITORY / ".lab/opt"
UP = 400.0  # seconds that a deploy may take on a busy machine


def with_profiles(clone: Clone) -> Clone:
    """The clone with the profiles that are committed for the tiny model."""
    for profile in (REPOSITORY / "inventory/profiles").glob("tiny-*.yml"):
        shutil.copy(profile, clone.root / "inventory/profiles")
    return clone


def listens(host: LabHost, port: int) -> bool:
    """Whether anybody answers on a port of the host."""
    with socket.socket() as link:
        link.settimeout(2)
        return link.connect_ex((host.address, port)) == 0


ASK = """
import json, sys, urllib.request
body = json.dumps({"model": "tiny", "prompt": "Say hello.", "max_tokens": 8, "temperature": 0}).encode()
request = urllib.request.Request(sys.argv[1] + "/v1/completions", body, {"Content-Type": "application/json"})
print(urllib.request.urlopen(request, timeout=120).read().decode())
"""


def generated(host: LabHost, port: int, address: str = "127.0.0.1") -> dict[str, Any]:
    """A real completion of eight tokens, asked for on the host itself."""
    done = host.exec(["python3", "-c", ASK, f"http://{address}:{port}"])
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class Told:
    """What a running command prints on stderr (or, for one that reports there, on stdout), as it comes."""

    def __init__(self, process: subprocess.Popen[str], stream: str = "stderr") -> None:
        self.process, self.lines = process, ""
        self._stream = process.stderr if stream == "stderr" else process.stdout

    def until(self, words: str, within: float = UP) -> str:
        """Read on until a line has these words; gives that line."""
        end = time.monotonic() + within
        assert self._stream is not None
        while time.monotonic() < end:
            line = self._stream.readline()
            assert line, f"it ended without {words!r}:\n{self.lines}"
            self.lines += line
            if words in line:
                return line
        raise AssertionError(f"no {words!r} within {within:.0f} s:\n{self.lines}")
