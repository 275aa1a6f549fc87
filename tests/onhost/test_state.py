"""Files of a run: whole, whoever writes them at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roles.onhost.state import Run, write


def test_two_threads_may_write_one_file_at_once(tmp_path: Path) -> None:
    # The follower's look and its "up" both write ranks.json; one of them lost, and the word "noted" with it.
    path = tmp_path / "ranks.json"

    def often(word: bytes) -> None:
        for _ in range(300):
            write(str(path), word * 1000, lasting=False)

    with ThreadPoolExecutor() as pool:
        list(pool.map(often, (b"a", b"b", b"c")))

    assert path.read_bytes() in (b"a" * 1000, b"b" * 1000, b"c" * 1000)
    assert list(tmp_path.iterdir()) == [path]


def test_the_disk_is_waited_for_where_a_loss_of_power_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    monkeypatch.setattr("os.fsync", lambda fd: waited.append(Path(f"/proc/self/fd/{fd}").readlink().name))
    run = Run(str(tmp_path), "r1")
    Path(run.folder).mkdir(parents=True)

    for name in ("plan.json", "ranks.json", "up.json"):
        run.write(name, {})
    run.add(run="r1")
    write(run.path("launch.sh"), b"")

    assert [name.rsplit(".", 2)[0] for name in waited] == ["state.json", "launch.sh"]
