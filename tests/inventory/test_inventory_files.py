"""inventory/hosts.yml and profiles as an operator writes them, and every way to get them wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from roles.inventory import Gpu, Host, InputError, Inventory, Profile, load

Repository = Callable[..., Inventory]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "inventory/profiles").mkdir(parents=True)
    (tmp_path / "inventory/hosts.yml").write_text("hosts: {}\n")
    return tmp_path


def hosts(root: Path, text: str) -> Inventory:
    (root / "inventory/hosts.yml").write_text(text)
    return load(root)


def profile(root: Path, text: str, *overrides: str, name: str = "p") -> Profile:
    (root / f"inventory/profiles/{name}.yml").write_text(text)
    return load(root).profile(name, overrides)


def problems(made: Callable[[], object]) -> list[str]:
    with pytest.raises(InputError) as caught:
        made()
    return str(caught.value).splitlines()


# hosts.yml


def test_a_host_needs_nothing_but_a_name(root: Path) -> None:
    host = hosts(root, "hosts:\n  a: {}\n").host("a")

    assert (host.address, host.internal, host.workdir, host.python, host.gpus) == (
        "a",
        "a",
        "~/.allranks",
        "python3",
        (),
    )


def test_gpus_are_counted_and_put_on_their_numa_nodes() -> None:
    assert Host(name="a", gpus=3, numa={0: (0,), 1: (2,)}).gpus == (Gpu(0, 0), Gpu(1, None), Gpu(2, 1))
    assert Host(name="a", numa={0: (4, 5)}).gpus == (Gpu(4, 0), Gpu(5, 0))
    assert Host(name="a", gpus=1).gpus == (Gpu(0, None),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            "kynd: lxc",
            "3: hosts.a.kynd: unknown key; did you mean kind? allowed: address, user, port",
        ),
        ("kind: docker", "3: hosts.a.kind: expected 'lxc', 'vm' or 'metal', found 'docker'"),
        (
            "kind: lcx",
            "3: hosts.a.kind: expected 'lxc', 'vm' or 'metal', found 'lcx'; did you mean lxc?",
        ),
        ("port: '22'", "3: hosts.a.port: expected a whole number, found '22'"),
        ("port: 0", "3: hosts.a.port: expected 1 or more, found 0"),
        ("port: 65536", "3: hosts.a.port: expected 65535 or less, found 65536"),
        ("port: true", "3: hosts.a.port: expected a whole number, found true"),
        ("user: 5", '3: hosts.a.user: expected text, found 5; put it in quotes: "5"'),
        ("lab: yes", "3: hosts.a.lab: expected true or false, found 'yes'"),
        ("address:", "3: hosts.a.address: has no value; leave the key out"),
        ("numa: [0]", "3: hosts.a.numa: expected keys and values, found a list"),
        ("numa: {0: 1}", "3: hosts.a.numa.0: expected a list, found 1"),
        ("numa: {x: [1]}", "3: hosts.a.numa.x: expected a whole number, found 'x'"),
        ("numa: {0: [1], 1: [1]}", "3: hosts.a.numa: GPU 1 is listed twice"),
        (
            "numa: {0: [8]}\n    gpus: 8",
            "3: hosts.a.numa: there is no GPU 8: gpus is 8, counted from 0",
        ),
        ("name: b", "3: hosts.a.name: unknown key; allranks fills it in itself"),
        ("via: b", "3: hosts.a.via: unknown key; allranks fills it in itself"),
        (
            "jump: bastion",
            "3: hosts.a.jump: no host 'bastion' in the inventory; or write user@host:port",
        ),
        ("jump: a", "3: hosts.a.jump: hosts that are reached through each other: a > a"),
        ("jump: u@b:99999", "3: hosts.a.jump: expected user@host:port, found 'u@b:99999'"),
        (
            "jump: b@c\n    proxy_command: x",
            "4: hosts.a.proxy_command: jump and proxy_command exclude each other",
        ),
        ("venv: ~/env", "3: hosts.a.venv: expected an absolute path"),
        (
            "workdir: work",
            "3: hosts.a.workdir: expected an absolute path or one that begins with ~/",
        ),
    ],
)
def test_a_wrong_host_is_told_by_line_key_and_what_is_allowed(root: Path, fields: str, message: str) -> None:
    [found] = problems(lambda: hosts(root, f"hosts:\n  a:\n    {fields}\n"))

    assert found.removeprefix("inventory/hosts.yml:").startswith(message)


@pytest.mark.parametrize(
    "field", ["address", "user", "jump", "key", "known_hosts", "interface", "internal", "python", "workdir"]
)
@pytest.mark.parametrize("value", ["-oProxyCommand=x", "-x", "a\nb", "a\0b", "", "a\x1bb"])
def test_no_text_for_ssh_can_be_an_option_or_hold_control_characters(field: str, value: str) -> None:
    with pytest.raises(ValueError, match=field):
        Host.model_validate({"name": "a", field: value})


@pytest.mark.parametrize("field", ["address", "user", "jump", "internal", "interface", "name"])
@pytest.mark.parametrize("value", ["a b", "a;b", "a$b x", "a`b`", "é"])
def test_no_name_or_address_holds_blanks_or_shell_characters(field: str, value: str) -> None:
    with pytest.raises(ValueError, match=field):
        Host.model_validate({"name": "a"} | {field: value})


@pytest.mark.parametrize("name", ["-a", "a b", "", "a/b", "a,b", "a@b", "x" * 64])
def test_a_host_is_not_called_what_no_argument_could_say(root: Path, name: str) -> None:
    [found] = problems(lambda: hosts(root, f'hosts:\n  "{name}": {{}}\n'))

    assert found.startswith("inventory/hosts.yml:2: hosts.") and "expected a name" in found


@pytest.mark.parametrize("address", ["10.0.0.1", "fe80::1%eth0", "::1", "gpu.example.com", "gpu_1"])
def test_host_names_and_ip_addresses_are_addresses(address: str) -> None:
    assert Host(name="a", address=address).internal == address


def test_a_name_that_yaml_1_1_takes_for_no_is_a_name(root: Path) -> None:
    assert hosts(root, "hosts:\n  no: {}\n  on: {}\n").host("no").name == "no"


def test_a_host_without_value_is_told_how_to_write_it(root: Path) -> None:
    [found] = problems(lambda: hosts(root, "hosts:\n  a:\n"))

    assert found == "inventory/hosts.yml:2: hosts.a: has no value; write {} where your ssh_config knows all of it"


def test_a_missing_hosts_file_is_named(root: Path) -> None:
    (root / "inventory/hosts.yml").unlink()

    [found] = problems(lambda: load(root))
    assert found.startswith("inventory/hosts.yml: no such file; write your hosts into it")
    assert "inv lab.up" in found


def test_a_lab_needs_no_hosts_file(root: Path) -> None:
    (root / "inventory/hosts.yml").unlink()
    (root / ".lab").mkdir()
    (root / ".lab/hosts.yml").write_text("hosts: {lab1: {lab: true}}\n")

    assert load(root).host("lab1").lab


def test_jump_leads_to_the_host_it_names_and_on_from_there(root: Path) -> None:
    inventory = hosts(root, "hosts:\n  a: {jump: b}\n  b: {jump: 'me@c.example:2222'}\n  d: {jump: '[::1]:22'}\n")
    a, d = inventory.host("a"), inventory.host("d")

    assert a.via is not None and a.via.name == "b"
    assert a.via.via is not None
    assert (a.via.via.user, a.via.via.address, a.via.via.port) == ("me", "c.example", 2222)
    assert d.via is not None and (d.via.address, d.via.port) == ("::1", 22)


def test_local_files_are_found_from_the_repository_or_from_home(root: Path) -> None:
    host = hosts(root, "hosts:\n  a: {key: keys/id, known_hosts: ~/.ssh/x}\n").host("a")

    assert host.key == str(root / "keys/id")
    assert host.known_hosts == str(Path.home() / ".ssh/x")


# groups


def test_a_second_name_for_the_very_same_host_is_not_another_host(root: Path) -> None:
    hosts(root, "hosts:\n  a: {address: 10.0.0.1}\n  b: {address: 10.0.0.1}\n  c: {address: 10.0.0.1, venv: /v}\n")
    assert [host.name for host in load(root).hosts("b,a,c")] == ["b", "c"]


def test_names_and_groups_become_hosts_in_order_each_once(root: Path) -> None:
    inventory = hosts(root, "hosts: {a: {}, b: {}, c: {}}\ngroups:\n  g: [b, h]\n  h: [c, b]\n")

    assert [host.name for host in inventory.hosts("c, g,a")] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("g: [aa]", "inventory/hosts.yml:3: groups.g[0]: no host or group 'aa'"),
        ("g: [g]", "inventory/hosts.yml:3: groups.g[0]: a group that contains itself: g > g"),
        ("a: [b]", "inventory/hosts.yml:3: groups.a: the name is taken already at inventory/hosts.yml:1"),
        ("g: a", "inventory/hosts.yml:3: groups.g: expected a list, found 'a'"),
    ],
)
def test_a_wrong_group_is_told_by_line(root: Path, groups: str, message: str) -> None:
    [found] = problems(lambda: hosts(root, f"hosts: {{a: {{}}, b: {{}}}}\ngroups:\n  {groups}\n"))

    assert found.startswith(message)


def test_a_circle_of_groups_is_told_at_each_group_in_it(root: Path) -> None:
    found = problems(lambda: hosts(root, "hosts: {a: {}}\ngroups:\n  g: [a, h]\n  h: [i]\n  i: [g]\n"))

    assert found[0] == "inventory/hosts.yml:3: groups.g[1]: a group that contains itself: g > h > i > g"
    assert len(found) == 3


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("gpu-lcx", "no host 'gpu-lcx' in inventory/hosts.yml; did you mean gpu-lxc? known: gpu-lxc, all, none"),
        ("lab", "no host 'lab' in inventory/hosts.yml; inv lab.up"),
        ("lab7", "no host 'lab7' in inventory/hosts.yml; inv lab.up"),
        ("all", "no host 'lab1' (in group all) in inventory/hosts.yml; inv lab.up"),
        ("none", "group none has no hosts"),
        (" , ", "no host given; known: gpu-lxc, all, none"),
    ],
)
def test_an_unknown_host_is_answered_with_the_nearest_and_the_known(root: Path, names: str, message: str) -> None:
    inventory = hosts(root, "hosts: {gpu-lxc: {}}\ngroups: {all: [gpu-lxc, lab1], none: []}\n")

    assert problems(lambda: inventory.hosts(names)) == [message]


def test_one_host_is_not_several(root: Path) -> None:
    inventory = hosts(root, "hosts: {a: {}, b: {}}\ngroups: {g: [a, b], one: [b]}\n")

    assert inventory.host("one").name == "b"
    assert problems(lambda: inventory.host("g")) == ["g is 2 hosts (a, b); name one of them"]


def test_the_hosts_of_a_lab_are_there_while_it_is(root: Path) -> None:
    (root / ".lab").mkdir()
    (root / ".lab/hosts.yml").write_text("hosts: {lab1: {lab: true}}\ngroups: {labs: [lab1]}\n")
    inventory = hosts(root, "hosts: {a: {}}\ngroups: {g: [a, labs]}\n")

    assert [host.name for host in inventory.hosts("g")] == ["a", "lab1"]


def test_a_name_in_both_files_is_told_with_both_places(root: Path) -> None:
    (root / ".lab").mkdir()
    (root / ".lab/hosts.yml").write_text("hosts:\n  lab1: {}\n")

    [found] = problems(lambda: hosts(root, "hosts:\n  lab1: {}\n"))
    assert found.startswith(".lab/hosts.yml:2: hosts.lab1: the name is taken already at inventory/hosts.yml:2;")


# profiles


def test_a_profile_needs_nothing_but_a_model(root: Path) -> None:
    made = profile(root, "model: org/name\n")

    assert (made.name, made.layout.tp, made.port, made.timeouts.stop) == ("p", 1, 30000, 60)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port: 1", "1: model: is missing: Hub name, absolute path on the host, or host:NAME"),
        (
            "model: m\nlayout: {tpp: 2}",
            "2: layout.tpp: unknown key; did you mean tp? allowed: tp, pp, dp, ep, nnodes",
        ),
        ("model: m\ntp: 2", "2: tp: unknown key; did you mean layout.tp?"),
        (
            "model: m\nmax_running_requests: 2",
            "2: max_running_requests: unknown key; a flag of SGLang goes under flags:; allowed: model",
        ),
        ("model: m\nname: q", "2: name: unknown key; allranks fills it in itself"),
        (
            "model: -m",
            "1: model: expected one line of text that does not begin with a dash, found '-m'",
        ),
        (
            "model: m\nserved_model_name: a:b",
            "2: served_model_name: expected a name without ':', found 'a:b'",
        ),
        ("model: m\nlayout: {tp: 0}", "2: layout.tp: expected 1 or more, found 0"),
        ("model: m\nlayout: 8", "2: layout: expected keys and values, found 8"),
        ("model: m\nlog: x.log", "2: log: expected an absolute path"),
        (
            "model: m\nsglang: 0.5",
            '2: sglang: expected text, found 0.5; put it in quotes: "0.5"',
        ),
        (
            "model: m\ntimeouts: {health: 0}",
            "2: timeouts.health: expected more than 0, found 0",
        ),
        ("model: m\ngpus: [0, 0]", "2: gpus: a GPU is named twice: [0, 0]"),
        ("model: m\ngpus: [-1]", "2: gpus[0]: expected 0 or more, found -1"),
        (
            "model: m\nenvironment: {A:}",
            "2: environment.A: has no value",
        ),
        (
            "model: m\nenvironment:\n  A:",
            '3: environment.A: has no value; leave the key out, or write ""',
        ),
        ("model: m\nenvironment:\n  A: [1]", "3: environment.A: expected text, found a list"),
        (
            "model: m\nenvironment:\n  1A: 1",
            "3: environment.1A: expected the name of an environment variable, found '1A'",
        ),
        (
            "model: m\nenvironment:\n  HF_TOKEN: hf_x",
            "3: environment.HF_TOKEN: HF_TOKEN looks like a secret; write secrets.HF_TOKEN: env:HF_TOKEN",
        ),
        (
            "model: m\nenvironment:\n  CUDA_VISIBLE_DEVICES: 1",
            "3: environment.CUDA_VISIBLE_DEVICES: CUDA_VISIBLE_DEVICES is not written here: write gpus:",
        ),
        (
            "model: m\nenvironment:\n  UID: 1",
            "3: environment.UID: UID cannot be set: bash keeps it for itself",
        ),
        (
            'model: m\nenvironment:\n  A: "x\\0y"',
            "3: environment.A: a NUL character cannot be",
        ),
        (
            "model: m\nsecrets:\n  A: hunter2",
            "3: secrets.A: expected env:NAME or file:PATH (a reference, never the secret), found ",
        ),
        (
            "model: m\nsecrets: {A: 'env:A'}\nenvironment: {A: 1}",
            "2: secrets: A is in environment too; keep one",
        ),
        (
            "model: m\nflags:\n  tp_size: 2",
            "3: flags.tp_size: tp_size is not written here: write layout.tp:",
        ),
        ("model: m\nflags:\n  tp: 2", "3: flags.tp: tp would be read as short for --tp-size"),
        (
            "model: m\nflags:\n  api_key: x",
            "3: flags.api_key: api_key is not written here: a secret may not be in argv",
        ),
        (
            "model: m\nflags:\n  max-total-tokens: 2",
            "3: flags.max-total-tokens: expected SGLang's flag with underscores",
        ),
        ("model: m\nflags:\n  x_y: []", "3: flags.x_y: an empty list; leave the flag out"),
        (
            "model: m\nflags:\n  trust_remote_code: yes",
            "3: flags.trust_remote_code: yes is neither true nor false",
        ),
        (
            "model: m\nextra_args: [--pp, 2]",
            "2: extra_args[0]: --pp is ambiguous since SGLang 0.5.5",
        ),
        (
            "model: m\nextra_args: [--tp-size=2]",
            "2: extra_args[0]: --tp-size is not written here: write layout.tp:",
        ),
        (
            "model: m\nextra_args: [--reasoning_parser, x]",
            "2: extra_args[0]: SGLang spells its flags with hyphens: --reasoning-parser",
        ),
        (
            "model: m\nextra_args: [--stream-interval, 2]\nflags: {stream_interval: 2}",
            "2: extra_args: --stream-interval repeats flags.stream_interval; keep one",
        ),
        ("model: m\nextra_args: --x", "2: extra_args: expected a list, found '--x'"),
    ],
)
def test_a_wrong_profile_is_told_by_line_key_and_what_to_write(root: Path, text: str, message: str) -> None:
    [found] = problems(lambda: profile(root, text + "\n"))

    assert found.removeprefix("inventory/profiles/p.yml:").startswith(message)


def test_the_secret_itself_is_never_repeated_in_the_error(root: Path) -> None:
    assert "hunter2" not in " ".join(problems(lambda: profile(root, "model: m\nsecrets:\n  A: hunter2\n")))


def test_all_problems_of_a_file_come_at_once_each_on_its_line(root: Path) -> None:
    found = problems(lambda: profile(root, "model: m\nport: x\nlayout:\n  tpp: 1\nflags:\n  host: y\n"))

    assert [line.split(": ")[0] for line in found] == [f"inventory/profiles/p.yml:{line}" for line in (4, 2, 6)]


def test_environment_values_stay_as_they_are_written(root: Path) -> None:
    made = profile(
        root, "model: m\nenvironment: {A: 1, B: on, C: 08, D: 1.10, E: true, F: '', G: 1e3, H: 0|1, I: NO}\n"
    )

    assert made.environment == dict(
        zip("ABCDEFGHI", ["1", "on", "08", "1.10", "true", "", "1e3", "0|1", "NO"], strict=True)
    )


def test_flags_keep_the_spelling_of_numbers_and_the_kind_of_the_rest(root: Path) -> None:
    flags = "a_a: 1.10, a_b: 0.92, a_c: 8, a_d: true, a_e: null, a_f: [1, 2.50], a_g: {k: 1.10}, a_h: '8'"

    assert profile(root, f"model: m\nflags: {{{flags}}}\n").flags == {
        "a_a": "1.10", "a_b": 0.92, "a_c": 8, "a_d": True,
        "a_e": None, "a_f": (1, "2.50"), "a_g": {"k": 1.1}, "a_h": "8",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "HF_TOKEN_PATH", "NCCL_IB_PKEY", "MAX_TOKENS", "KEYBOARD"])
def test_a_name_that_only_contains_a_secret_word_is_none(name: str) -> None:
    assert Profile.model_validate({"name": "p", "model": "m", "environment": {name: "x"}}).environment == {name: "x"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tp9", "no profile 'tp9' in inventory/profiles; did you mean tp8? known: tp8, tp4pp2"),
        ("tp8.yml", "no profile 'tp8.yml' in inventory/profiles; did you mean tp8? known: tp8, tp4pp2"),
        ("../../etc/passwd", "no profile '../../etc/passwd' in inventory/profiles; known: tp8, tp4pp2"),
        ("", "no profile given; known: tp8, tp4pp2"),
    ],
)
def test_an_unknown_profile_is_answered_with_the_nearest_and_the_known(root: Path, name: str, message: str) -> None:
    for known in ("tp8", "tp4pp2"):
        (root / f"inventory/profiles/{known}.yml").write_text("model: m\n")

    [found] = problems(lambda: load(root).profile(name))
    assert sorted(found.replace(",", "").split()) == sorted(message.replace(",", "").split())
