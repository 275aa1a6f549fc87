"""The installed SGLang's parser and a command line -> its options and what it objects to. Remembered by version."""

from __future__ import annotations

import json
import os
import threading

from .state import Home, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from .state import Json

try:
    from _blake2 import blake2b  # hashlib's own, without the 3 ms that it takes to load OpenSSL
except ImportError:
    from hashlib import blake2b

# SGLang's Python runs this with one argument: the folder or zip file that this package lies in.
RUN = "import sys; sys.path.insert(0, sys.argv.pop()); from onhost.parser import main; del sys.path[0]; main()"
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATIENCE = 120.0  # seconds; a first import from a cold disk is slow
KEPT = 20  # answers


class Asked:
    """The parser at work: started at once, read when everything else has been looked at."""

    def __init__(self, home: Home, python: str, version: Optional[str], argv: List[str], environment: Json) -> None:
        self._answer: Json = {}
        self._python, self._argv = os.path.expanduser(python), argv
        self._environment = dict(os.environ, **{str(key): str(value) for key, value in environment.items()})
        self._file = os.path.join(home.path, "cache", "flags-" + self._key(version) + ".json")
        self._thread = threading.Thread(target=self._ask, daemon=True)
        if not self._remembered():
            self._thread.start()

    def _key(self, version: Optional[str]) -> str:
        """Of the version, the Python, the words, and what decides which backends there are."""
        steering = sorted((k, v) for k, v in self._environment.items() if k.startswith(("SGLANG_", "PYTHONPATH")))
        content = json.dumps([version, self._python, os.path.realpath(self._python), self._argv, steering])
        return blake2b(content.encode(), digest_size=8).hexdigest()

    def answer(self) -> Json:
        """{"error", "halves", "cached"}, with "options" where it objects; or {"failed": why}."""
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)
        if not self._answer:
            return {"failed": f"no answer within {PATIENCE:.0f} s"}
        taken = "failed" not in self._answer and self._answer["error"] is None
        return {key: value for key, value in self._answer.items() if key != "options" or not taken}

    def _remembered(self) -> bool:
        try:
            with open(self._file, encoding="utf-8") as file:
                self._answer = dict(json.load(file), cached=True)
        except (OSError, ValueError):
            return False
        return True

    def _ask(self) -> None:
        try:
            answer = self._run(hollow=True)
            if "failed" in answer:  # a release that cannot be built so: with everything it imports then
                answer = self._run(hollow=False)
            self._answer = dict(answer, cached=False)
            if "failed" not in answer:
                self._keep(answer)
        except Exception as error:
            self._answer = self._answer or {"failed": f"{type(error).__name__}: {error}"}

    def _run(self, hollow: bool) -> Json:
        import subprocess  # 3 ms, and mostly the answer is remembered

        request = json.dumps({"argv": self._argv, "hollow": hollow}) + "\n"
        done = subprocess.run(
            [self._python, "-c", RUN, HERE], input=request.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            check=False, timeout=PATIENCE, env=self._environment, cwd="/",
        )  # fmt: skip
        if done.returncode:
            return {"failed": (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["?"])[-1][:300]}
        answer: Dict[str, Any] = json.loads(done.stdout.decode("utf-8", "replace").strip().splitlines()[-1])
        return answer

    def _keep(self, answer: Json) -> None:
        """For the next time; a full disk or a folder that cannot be written is no trouble here."""
        folder = os.path.dirname(self._file)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            write(self._file, json.dumps(answer).encode())
            names = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("flags-")]
            for old in sorted(names, key=os.path.getmtime)[:-KEPT]:
                os.unlink(old)
        except OSError:
            pass
