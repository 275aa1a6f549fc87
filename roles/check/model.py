"""The model: complete on every node, and divisible as the layout divides it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from roles.check.finding import Finding, Node, gib


def look(node: Node) -> Iterator[Finding]:
    """Where the model is, and whether all of it."""
    told = node.look("model")
    if not told:
        return
    if not told.get("exists"):
        yield from _absent(node, told)
        return
    wrong = [*_files(node, told), *_shape(node, told.get("config"))]
    yield from wrong
    if not any(finding.level == "refusal" for finding in wrong):
        size = f", {told['files']} files, {gib(told['bytes'] / 2**20)}" if told.get("files") else ""
        yield node.ok("model", f"{told['model']} is complete{size}")


def _absent(node: Node, told: Mapping[str, Any]) -> Iterator[Finding]:
    model = told["model"]
    if told.get("local"):
        yield node.refusal("model", f"there is no model at {model}", node.correct("copy it there, or correct `model`"))
        return
    software = node.look("software")
    hub = software.get("hub")
    if software.get("offline"):
        what = f"{model} is not in {hub}, and HF_HUB_OFFLINE forbids to fetch it"
        yield node.refusal("model", what, "fetch it there first, or unset HF_HUB_OFFLINE")
        return
    token = software.get("token") or "HF_TOKEN" in node.node.secrets
    free = (node.look("places").get("folders") or {}).get(hub, {}).get("free_mib")
    room = f", where {gib(free)} are free" if free is not None else ""
    what = f"{model} is not in the cache: SGLang will download it to {hub}{room}"
    do = "fetch it before, if the load shall be short" + (
        "" if token else "; a gated model also needs secrets.HF_TOKEN"
    )
    yield node.warning("model", what, do)


def _files(node: Node, told: Mapping[str, Any]) -> Iterator[Finding]:
    folder = told.get("folder")
    if "config" in told and told["config"] is None and told.get("files") != 1:
        yield node.refusal("model", f"{folder} has no readable config.json", "copy the whole model there")
    if missing := told.get("missing"):
        what = f"{len(missing)} of the {told['files']} files of {folder} are missing: {_some(missing)}"
        yield node.refusal("model", what, "copy them there", "every file its index names")
    for name, fault in (told.get("broken") or [])[:5]:
        yield node.refusal("model", f"{folder}/{name} {fault}", "copy it again")
    if told.get("files") == 0:
        yield node.refusal("model", f"{folder} has no weights", "copy them there, or set flags.load_format: dummy")
    if unfinished := told.get("unfinished"):
        yield node.warning("model", f"{folder} has unfinished downloads: {_some(unfinished)}", "wait, or fetch again")
    flags = node.plan.profile.flags
    if not told.get("tokenizer") and not flags.get("tokenizer_path") and not flags.get("skip_tokenizer_init"):
        yield node.warning("model", f"{folder} has no tokenizer", "copy it there, or set flags.tokenizer_path")


def _shape(node: Node, config: Mapping[str, Any] | None) -> Iterator[Finding]:
    """What the layout divides must divide: heads over tensor ranks, layers over stages, experts over ep."""
    if not config:
        return
    profile = node.plan.profile
    layout = profile.layout
    inner = next((config[key] for key in ("text_config", "llm_config") if isinstance(config.get(key), Mapping)), config)
    split = layout.tp // layout.dp if profile.attention_dp else layout.tp
    heads, kv, layers = (
        _count(inner, key) for key in ("num_attention_heads", "num_key_value_heads", "num_hidden_layers")
    )
    correct = "choose another layout"
    # On the CPU SGLang adds heads of zeros until they can be split (srt/configs/update_config.py; seen on 0.5.23).
    padded = profile.flags.get("device") == "cpu"
    uneven = node.warning if padded else node.refusal
    otherwise = "nothing: on the CPU SGLang adds heads of zeros; or choose another layout" if padded else correct
    if heads and heads % split:
        yield uneven("layout", f"the model's {heads} attention heads cannot be split over {split} ranks", otherwise)
    if kv and "kv_lora_rank" not in inner and kv % split and split % kv:
        what = f"the model's {kv} key-value heads and {split} tensor ranks: neither divides the other"
        yield uneven("layout", what, otherwise)
    if layers and layers < layout.pp:
        yield node.refusal("layout", f"the model has {layers} layers for {layout.pp} pipeline stages", correct)
    experts = next(
        (n for key in ("n_routed_experts", "num_experts", "num_local_experts") if (n := _count(inner, key))), None
    )
    if experts and layout.ep > 1 and experts % layout.ep:
        yield node.refusal("layout", f"the model's {experts} experts cannot be split over ep={layout.ep}", correct)


def _count(config: Mapping[str, Any], key: str) -> int | None:
    value = config.get(key)
    return value if isinstance(value, int) and value > 0 else None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def alike(nodes: Sequence[Node]) -> Iterator[Finding]:
    """The same model everywhere."""
    configs = [node.look("model").get("config") for node in nodes]
    sizes = [node.look("model").get("bytes") for node in nodes]
    if None not in configs and any(config != configs[0] for config in configs):
        where = ", ".join(node.name for node in nodes)
        yield Finding(
            "refusal", "model", nodes[0].plan.name, f"config.json differs between {where}", "copy one of them"
        )
    elif None not in sizes and any(size != sizes[0] for size in sizes):
        which = ", ".join(f"{size} bytes on {node.name}" for node, size in zip(nodes, sizes, strict=True))
        yield Finding("refusal", "model", nodes[0].plan.name, f"the weights differ: {which}", "copy one of them")
