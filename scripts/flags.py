"""SGLang releases -> the table of their flags: `.venv/bin/python scripts/flags.py 0.5.24` adds a release.

Each release's wheel is fetched with pip (without its dependencies) into a temporary folder and its own argument parser
is built from it (roles/onhost/parser.py); what that has is written to roles/plan/flags/table.json. Without arguments
every release of the table is read anew. Needs about 60 MB of disk a release, gone at the end; nothing is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from roles.onhost.flags import HERE, RUN  # noqa: E402

TABLE = ROOT / "roles/plan/flags/table.json"
BUILT_WITH = ("msgspec", "packaging", "typing_extensions")  # what the parser of 0.5.20 and later is built out of
FEWEST = 100  # options; a parser with fewer was not read whole

Option = dict[str, Any]


def main(wanted: list[str]) -> None:
    """Read the wanted releases and write the table."""
    known = expanded(json.loads(TABLE.read_text())) if TABLE.exists() else {}
    with tempfile.TemporaryDirectory(prefix="allranks-flags-") as folder:
        packages = Path(folder, "packages")
        pip("install", "--target", str(packages), *BUILT_WITH)
        for release in wanted or list(known):
            known[release] = read(release, Path(folder), packages)
            print(f"{release}: {len(known[release])} options", flush=True)
    TABLE.write_text(written(known))


def read(release: str, folder: Path, packages: Path) -> list[Option]:
    """The options of one release, from its wheel."""
    root = folder / release
    pip("download", "--only-binary=:all:", "--ignore-requires-python", "-d", str(root), f"sglang=={release}")
    (wheel,) = root.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(root, [name for name in archive.namelist() if name.endswith(".py")])
    wheel.unlink()
    request = json.dumps({"root": str(root), "path": [str(packages)], "hollow": True})
    argv = [sys.executable, "-I", "-S", "-c", RUN, HERE]
    done = subprocess.run(argv, input=request + "\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{release}: its parser could not be built: {(done.stderr.splitlines() or ['?'])[-1]}")
    options: list[Option] = json.loads(done.stdout)["options"]
    if len(options) < FEWEST:
        raise SystemExit(f"{release}: only {len(options)} options were found; has the parser moved?")
    return options


def pip(*arguments: str) -> None:
    """Run pip quietly; its last line when it fails."""
    argv = [sys.executable, "-m", "pip", *arguments[:1], "-q", "--no-deps", *arguments[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"pip {' '.join(arguments)}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")


def expanded(table: dict[str, Any]) -> dict[str, list[Option]]:
    """The table -> each release's options."""
    releases: dict[str, list[Option]] = {release: [] for release in table["releases"]}
    for row in table["options"]:
        option = {key: value for key, value in row.items() if key != "in"}
        for first, last in row["in"]:
            for release in table["releases"][table["releases"].index(first) : table["releases"].index(last) + 1]:
                releases[release].append(option)
    return releases


def written(known: dict[str, list[Option]]) -> str:
    """Each release's options -> the table's text: one line for an option that is the same over a span of releases."""
    releases = sorted(known, key=in_order)
    seen: dict[str, list[int]] = {}
    for number, release in enumerate(releases):
        for option in known[release]:
            seen.setdefault(json.dumps(option), []).append(number)
    rows = []
    for text, numbers in seen.items():
        spans: list[list[int]] = []
        for number in numbers:
            if spans and spans[-1][1] == number - 1:
                spans[-1][1] = number
            else:
                spans.append([number, number])
        rows.append({**json.loads(text), "in": [[releases[first], releases[last]] for first, last in spans]})
    rows.sort(key=lambda row: (row["flags"][0], in_order(row["in"][0][0])))
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f'{{"releases": {json.dumps(releases)},\n"options": [\n{lines}\n]}}\n'


def in_order(release: str) -> list[int]:
    """0.5.10.post1 comes after 0.5.9."""
    return [int(number) for number in re.findall(r"\d+", release)]


if __name__ == "__main__":
    main(sys.argv[1:])
