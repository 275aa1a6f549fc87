"""What `inv status` shows."""

import io

from rich.console import Console

from roles.view.console import THEME
from roles.view.status import Row, render

ROW = Row(
    deployment="tp2@lab", run="20261129-171933-tp2-9k8w", profile="tp2", hosts=("lab",), state="up",
    sentence="every rank is alive", since=940.0, ranks=2, living=2, missing=[], port=8000, health=200, memory={},
    who="ada@desk",
)  # fmt: skip


def seen(*rows: Row, silent: dict[str, str] | None = None, looked_at: tuple[str, ...] = ("lab", "gpu-b")) -> str:
    out = Console(file=io.StringIO(), width=100, theme=THEME, record=True)
    render(out, rows, silent or {}, looked_at, 1000.0)
    return out.export_text()


def test_a_host_that_did_not_answer_is_named_once_and_not_said_to_be_empty() -> None:
    text = seen(silent={"gpu-b": "gpu-b: nothing came back for 60 s"})

    assert text.splitlines() == ["nothing of ours runs on lab", "gpu-b: no answer: nothing came back for 60 s"]


def test_where_no_host_answered_nothing_is_said_of_what_runs() -> None:
    text = seen(silent={"gpu-b": "gpu-b: nothing came back for 60 s"}, looked_at=("gpu-b",))

    assert "nothing of ours" not in text


def test_without_gpus_there_is_no_column_for_their_memory() -> None:
    assert "memory" not in seen(ROW)
    assert seen(ROW).splitlines()[1].split() == ["tp2@lab", "up", "1", "min", "2/2", "8000", "200"]
