"""Files of a run: whole, whoever writes them at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from roles.onhost.state import write


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
