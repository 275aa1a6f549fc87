"""The packed program: small, the same each time, of the standard library alone, and understood by every Python."""

from __future__ import annotations

import ast
import io
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from roles.onhost import pack as packing
from roles.onhost.bring import place
from roles.onhost.unpack import unpack
from tests.onhost.driver import eventually

RUN_BY_SGLANGS_PYTHON = ("onhost/parser.py",)  # it is given to that Python as text, where sglang is at home


def test_the_same_sources_give_the_same_bytes() -> None:
    first = packing.pack()
    packing.pack.cache_clear()
    assert packing.pack() == first
    assert len(packing.content_hash()) == 12 and int(packing.content_hash(), 16)


def test_it_is_small_and_leaves_its_packer_at_home() -> None:
    names = zipfile.ZipFile(io.BytesIO(packing.pack())).namelist()
    assert "onhost/__main__.py" in names and "onhost/pack.py" not in names
    print(f"packed: {len(packing.pack())} bytes")
    assert len(packing.pack()) < 128 * 1024


def test_it_unpacks_itself_once_and_runs_from_there(program: Path) -> None:
    copy = program.with_name("onhost-0.pyz")
    copy.write_bytes(program.read_bytes())
    command = [sys.executable, "-I", "-S", str(copy), "status"]
    request = json.dumps({"workdir": str(program.parent / "nothing")}) + "\n"
    first, second = (
        subprocess.run(command, input=request, capture_output=True, text=True, check=False) for _ in range(2)
    )
    assert [json.loads(line)["f"] for line in first.stdout.splitlines()] == ["hello", "end"]
    assert [json.loads(line)["f"] for line in second.stdout.splitlines()] == ["hello", "end"]
    folder = copy.with_name("onhost-0.pyz.d")
    assert (folder / "onhost/status.py").exists() and list(folder.glob("onhost/compiled.*"))
    assert not list(folder.glob("onhost/__pycache__/[!_c]*"))  # all is compiled once, the first time too
    assert not list(program.parent.glob("*.part"))


def statuses(python: str, program: Path) -> list[str]:
    """The frames of a `status` of the unpacked program."""
    command = [python, "-I", "-S", "-c", packing.RUN, str(program), "status"]
    request = json.dumps({"workdir": str(program.parent / "nothing")}) + "\n"
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)
    return [json.loads(line)["f"] for line in done.stdout.splitlines()]


def test_its_modules_come_from_one_file_or_where_that_is_no_good_from_their_folder(
    python: str, program: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "onhost-3.pyz"
    copy.write_bytes(program.read_bytes())
    assert statuses(python, copy) == ["hello", "end"]
    (compiled,) = tmp_path.glob("onhost-3.pyz.d/onhost/compiled.*-*")
    status, whole = compiled.with_name("status.py"), compiled.read_bytes()
    source = status.read_text()
    status.write_text("raise SystemExit('this is not what was compiled')")
    assert statuses(python, copy) == ["hello", "end"]

    status.write_text(source)
    for damaged in (b"", whole[:1000], whole.replace(b"3.", b"4.", 1), b"x" + whole):
        compiled.write_bytes(damaged)
        assert statuses(python, copy) == ["hello", "end"]
    assert list(status.parent.glob("__pycache__/status.*"))  # from there by now
    for damaged in (whole[:-100000], whole[:8192] + bytes(len(whole) - 8192)):
        compiled.write_bytes(damaged)
        assert statuses(python, copy) == ["hello", "end"]
    assert stat.S_IMODE(compiled.stat().st_mode) == 0o600


def test_what_another_with_the_same_number_has_left_or_does_is_in_nobodys_way(program: Path, tmp_path: Path) -> None:
    archive, before = tmp_path / "onhost-4.pyz", os.umask(0o077)
    try:
        archive.with_name(f"{archive.name}.{os.getpid()}.part").touch()
        (tmp_path / f"{archive.name}.d.{os.getpid()}.part/onhost/__pycache__").mkdir(parents=True)

        place(str(archive), program.read_bytes())  # type: ignore[no-untyped-call]  # Python 2 reads it too
        unpack(str(archive), f"{archive}.d")
    finally:
        os.umask(before)

    assert archive.read_bytes() == program.read_bytes()
    assert list(tmp_path.glob("onhost-4.pyz.d/onhost/compiled.*-*"))


def test_what_nobody_has_used_for_a_month_is_removed(program: Path, tmp_path: Path) -> None:
    archive = tmp_path / "onhost-5.pyz"
    archive.write_bytes(program.read_bytes())
    (tmp_path / "onhost-4.pyz").touch()
    for name in ("onhost-3.pyz", "onhost-2.pyz.7-0a.part"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    for name in ("onhost-3.pyz.d", "onhost-2.pyz.d.7-0a.part"):
        (tmp_path / name / "onhost").mkdir(parents=True)
        os.utime(tmp_path / name, (0, 0))

    unpack(str(archive), f"{archive}.d")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["onhost-4.pyz", "onhost-5.pyz", "onhost-5.pyz.d"]


def test_where_nothing_can_be_written_it_runs_all_the_same(program: Path) -> None:
    copy = program.with_name("onhost-1.pyz")
    copy.write_bytes(program.read_bytes())
    copy.with_name("onhost-1.pyz.d").write_text("in the way")
    request = json.dumps({"workdir": str(program.parent / "nothing")}) + "\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(copy), "status"], input=request, capture_output=True, text=True, check=False
    )
    assert [json.loads(line)["f"] for line in done.stdout.splitlines()] == ["hello", "end"]
    assert not list(program.parent.glob("*.part"))


SLOW = (
    "argparse",
    "email",
    "glob",
    "hashlib",
    "http.client",
    "importlib",
    "importlib.util",
    "runpy",
    "shutil",
    "ssl",
    "subprocess",
    "tempfile",
    "typing",
)


@pytest.fixture
def telling(python: str, program: Path) -> list[str]:
    """The program as it is started on a host that has it unpacked, with each module that it loads told on stderr."""
    copy = program.with_name("onhost-2.pyz")
    copy.write_bytes(program.read_bytes())
    command = [python, "-I", "-S", "-X", "importtime", "-c", packing.RUN, str(copy)]
    subprocess.run([*command, "serve"], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return command


def loaded(told: str) -> set[str]:
    """The modules that were."""
    return {line.rpartition("|")[2].strip() for line in told.splitlines()}


def test_what_is_slow_to_load_is_left_until_it_is_needed(telling: list[str], program: Path) -> None:
    venv = program.parent / "venv"
    (venv / "lib/python3.12/site-packages/sglang-0.5.23.dist-info").mkdir(parents=True, exist_ok=True)
    asked = {"verb": "facts", "workdir": str(program.parent / "new"), "ports": [1], "gpus": False, "venv": str(venv)}
    look = {"argv": [], "folders": ["/tmp"], "peers": [], "gpus": False}
    request = json.dumps({**asked, "look": look}) + "\n"
    done = subprocess.run([*telling, "serve"], input=request, capture_output=True, text=True, check=True)
    assert [json.loads(line)["f"] for line in done.stdout.splitlines()] == ["hello", "facts", "end"]
    assert "onhost.look" in loaded(done.stderr)
    assert not loaded(done.stderr).intersection(SLOW)


def test_what_is_going_to_be_asked_is_loaded_while_no_request_waits(telling: list[str], program: Path) -> None:
    command = [*telling, "serve", "facts", "stop", "start", "follow"]
    said = program.with_name("said")
    with said.open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    try:
        eventually(lambda: said.read_text().rpartition("|")[2].strip() == "onhost.follow")
        there = loaded(said.read_text())
        assert {"onhost.facts", "onhost.look", "onhost.stop"} <= there and "onhost.witness" not in there
        assert not there.intersection(SLOW)
        request = {"verb": "facts", "workdir": str(program.parent / "new"), "gpus": False}
        out, _ = process.communicate(json.dumps(request).encode() + b"\n", timeout=20)
    finally:
        process.kill()
        process.wait()
    assert [json.loads(line)["f"] for line in out.splitlines()] == ["hello", "facts", "end"]


def test_a_request_that_is_there_already_is_not_kept_waiting_by_that(telling: list[str], program: Path) -> None:
    request = json.dumps({"verb": "status", "workdir": str(program.parent / "new")}) + "\n"
    done = subprocess.run([*telling, "serve", "follow"], input=request, capture_output=True, text=True, check=True)
    assert [json.loads(line)["f"] for line in done.stdout.splitlines()] == ["hello", "end"]
    assert "onhost.follow" not in done.stderr


def test_what_is_no_verb_cannot_be_expected(program: Path) -> None:
    command = [sys.executable, str(program), "serve", "facts", "dance"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    frame = json.loads(done.stdout)
    assert (frame["f"], frame["code"], done.returncode) == ("error", "bad-request", 1) and "dance" in frame["message"]


def test_it_imports_the_standard_library_and_itself_only() -> None:
    for name, content in packing.sources():
        if name in RUN_BY_SGLANGS_PYTHON:
            continue
        for node in ast.walk(ast.parse(content, feature_version=(3, 8))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            else:
                continue
            tops = {module.partition(".")[0] for module in modules}
            assert tops <= {*sys.stdlib_module_names, "onhost"}, name


def test_types_are_named_where_only_a_checker_looks() -> None:
    theirs = {f"onhost/{name}.py" for name in ("parser", "hollow", "measuring", "stopwatch")}  # run by SGLang's Python
    for name, content in packing.sources():
        loaded = {node.module for node in ast.parse(content).body if isinstance(node, ast.ImportFrom)}
        assert "typing" not in loaded or name in theirs, f"{name}: typing takes 2 ms; put it under `if TYPE_CHECKING:`"


def old_pythons() -> list[str]:
    """Pythons of this machine that are too old."""
    versions = Path.home() / ".pyenv/versions"
    return [str(path) for old in ("2.7", "3.6", "3.7") for path in sorted(versions.glob(f"{old}.*/bin/python"))]


@pytest.mark.skipif(not old_pythons(), reason="no Python older than 3.8 on this machine")
def test_a_python_that_is_too_old_says_so_in_a_frame(program: Path) -> None:
    for python in old_pythons():
        done = subprocess.run(
            [python, str(program), "facts"], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        frame = json.loads(done.stdout)
        assert (frame["f"], frame["code"], done.returncode) == ("error", "missing", 1) and "3.8" in frame["message"]


def test_it_runs_from_the_checkout_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "roles.onhost", "facts"],
        input=b'{"workdir": "/no/such/folder"}\n',
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert [json.loads(line)["f"] for line in done.stdout.splitlines()] == ["hello", "facts", "end"]
