from pathlib import Path

import pytest

from roles.inventory import InputError, Profile, load

TEXT = """\
model: org/name
layout: {tp: 2}
flags:
  max_running_requests: 1024
  revision: 1.10
environment:
  NCCL_DEBUG: INFO
secrets:
  HF_TOKEN: env:HF_TOKEN
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "inventory/profiles").mkdir(parents=True)
    (tmp_path / "inventory/hosts.yml").write_text("hosts: {}\n")
    (tmp_path / "inventory/profiles/p.yml").write_text(TEXT)
    return tmp_path


def with_set(root: Path, *overrides: str) -> Profile:
    return load(root).profile("p", overrides)


@pytest.mark.parametrize(
    ("override", "where", "value"),
    [
        ("tp=4", "layout.tp", 4),
        ("layout.pp=2", "layout.pp", 2),
        ("layout={tp: 8}", "layout.tp", 8),
        ("port=8000", "port", 8000),
        ("model=other/name", "model", "other/name"),
        ("gpus=[2, 3]", "gpus", (2, 3)),
        ("gpus=null", "gpus", None),
        ("timeouts.stop=90.5", "timeouts.stop", 90.5),
        ("served-model-name=x", "served_model_name", "x"),
        ("max_running_requests=2048", "flags.max_running_requests", 2048),
        ("max-running-requests=2048", "flags.max_running_requests", 2048),
        ("revision=2.50", "flags.revision", "2.50"),
        ("revision='2'", "flags.revision", "2"),
        ("revision=[1, 2]", "flags.revision", (1, 2)),
        ("flags.trust_remote_code=true", "flags.trust_remote_code", True),
        ("flags.load-format=dummy", "flags.load_format", "dummy"),
        ("NCCL_DEBUG=WARN", "environment.NCCL_DEBUG", "WARN"),
        ("environment.X=on", "environment.X", "on"),
        ("environment.X=", "environment.X", ""),
        ('environment.X={"a": [1, "b"]} # not a comment', "environment.X", '{"a": [1, "b"]} # not a comment'),
        ("environment.X=a=b", "environment.X", "a=b"),
        ("HF_TOKEN=env:OTHER", "secrets.HF_TOKEN", "env:OTHER"),
        ("secrets.KEY=file:~/key", "secrets.KEY", "file:~/key"),
        ("extra_args=[--x, 1]", "extra_args", ("--x", "1")),
    ],
)
def test_an_override_is_typed_as_in_the_file(root: Path, override: str, where: str, value: object) -> None:
    found: object = with_set(root, override)
    for part in where.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)

    assert found == value and type(found) is type(value)


def test_an_override_leaves_the_rest_alone_and_the_last_one_wins(root: Path) -> None:
    made = with_set(root, "tp=4", "tp=8", "flags.x_y=1")

    assert made.layout.tp == 8
    assert made.flags == {"max_running_requests": 1024, "revision": "1.10", "x_y": 1}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("tp=x", "layout.tp: expected a whole number, found 'x'"),
        ("tp=", "layout.tp: has no value"),
        ("layout.tpp=4", "layout.tpp: unknown key; did you mean tp?"),
        ("layout={tpp: 4}", "layout.tpp: unknown key; did you mean tp?"),
        ("max_runing_requests=1", "max_runing_requests is no field of a profile and is not in this one; did"),
        ("NCCL_DEBUGG=1", "NCCL_DEBUGG is no field of a profile and is not in this one; did you mean NCCL_DEBUG? to"),
        ("tp_size=4", "tp_size is not written here: write layout.tp:"),
        ("flags.tp_size=4", "flags.tp_size: tp_size is not written here: write layout.tp:"),
        ("flagz.x=4", "flagz.x: no such key; did you mean flags? known: model"),
        ("flags.=4", "flags.: no such key"),
        ("name=q", "name is no field of a profile"),
        ("API_KEY=x", "API_KEY looks like a secret; write secrets.API_KEY"),
        ("CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES is not written here: write gpus:"),
        ("gpus=[1", "--set gpus=[1:1: not valid YAML: expected ',' or ']'"),
        ("flags.x_y={a: 1, a: 2}", "--set flags.x_y={a: 1, a: 2}:1: a: written twice"),
        ("tp", "not an override; write --set KEY=VALUE"),
        ("=4", "not an override; write --set KEY=VALUE"),
    ],
)  # fmt: skip
def test_a_wrong_override_is_told_as_the_operator_typed_it(root: Path, override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        with_set(root, override)

    assert str(caught.value).removeprefix(f"--set {override}: ").startswith(message) and "\n" not in str(caught.value)


def test_an_override_may_begin_a_section_the_file_does_not_have(root: Path) -> None:
    assert with_set(root, "timeouts.stop=5").timeouts.stop == 5
