"""The GPUs: there, visible, free, whole, and able to do what the flags ask of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roles.check.abilities import ANY, unable
from roles.check.finding import Finding, Node, described, gib

BASELINE_MIB = 2048  # of a GPU that others may use before it counts as taken


def look(node: Node) -> Iterator[Finding]:
    """Nothing for a plan without GPUs."""
    wanted = node.node.gpus
    if not wanted:
        return
    there = {gpu["index"]: gpu for gpu in node.facts.get("gpus") or []}
    lacking = [gpu for gpu in wanted if gpu not in there]
    if lacking:
        why = node.facts.get("gpu_error") or _why(node, sorted(there))
        what = f"GPU {', '.join(map(str, lacking))} of the plan is not there ({why})"
        yield node.refusal("gpu", what, "correct `gpus` in the inventory, or the driver on the host")
    found = [*_holders(node, there), *_details(node), *_fits(node, there)]
    yield from found
    if not lacking and not any(finding.level == "refusal" for finding in found):
        first = there[wanted[0]]
        free = min((there[gpu]["total_mib"] or 0) - (there[gpu]["used_mib"] or 0) for gpu in wanted)
        yield node.ok("gpu", f"{len(wanted)} x {first['name']}, at least {gib(free)} free on each")


def _why(node: Node, there: list[int]) -> str:
    devices = node.look("cards").get("nodes") or []
    if there:
        return f"nvidia-smi lists {', '.join(map(str, there))}"
    return "nvidia-smi lists none" + (f", /dev has {len(devices)}" if devices else ", nor has /dev any")


def _holders(node: Node, there: Mapping[int, Mapping[str, Any]]) -> Iterator[Finding]:
    """By nvidia-smi where it tells, by /proc where its list is empty (as in LXC), else by memory alone."""
    listed = [row for row in node.facts.get("gpu_holders") or [] if row.get("run") not in _ours(node)]
    opened = [row for row in node.look("cards").get("openers") or [] if row.get("run") not in _ours(node)]
    for gpu in node.node.gpus:
        used = int((there.get(gpu) or {}).get("used_mib") or 0)
        who = [f"{described(row)} ({row['used_mib']} MiB)" for row in listed if row.get("index") == gpu]
        who = who or [described(row) for row in opened if gpu in row["indexes"]]
        if used > BASELINE_MIB and (who or not node.ours):
            by = "; ".join(who) or "whom neither nvidia-smi nor /proc names (a process outside this container?)"
            what = f"GPU {gpu} is in use: {gib(used)} by {by}"
            yield node.refusal(
                "gpu", what, "end it, or choose other GPUs (--set gpus=[…])", f"under {gib(BASELINE_MIB)}"
            )
        elif who:
            yield node.warning("gpu", f"GPU {gpu} is open in {'; '.join(who)}", "see whether it will need memory")


def _ours(node: Node) -> tuple[str, ...]:
    return tuple(node.ours)


def _details(node: Node) -> Iterator[Finding]:
    for row in node.look("cards").get("details") or []:
        if _number(row["index"]) not in node.node.gpus:
            continue
        name = f"GPU {row['index']}"
        if (_number(row["ecc_errors_uncorrected_volatile_total"]) or 0) > 0:
            errors = row["ecc_errors_uncorrected_volatile_total"]
            yield node.warning("gpu", f"{name} has had {errors} uncorrected memory errors", "reset or replace it")
        if row["mig_mode_current"] == "Enabled":
            yield node.warning("gpu", f"{name} is divided (MIG)", "name the instances, or turn MIG off")
        limit, most = _number(row["power_limit"]), _number(row["power_max_limit"])
        if limit and most and limit < 0.9 * most:
            yield node.warning(
                "gpu", f"{name} is limited to {limit:.0f} of {most:.0f} W", "nvidia-smi -pl, if not meant"
            )
        yield from _able(node, name, _number(row["compute_cap"]))


def _able(node: Node, name: str, capability: float | None) -> Iterator[Finding]:
    if capability is None:
        return
    version = (node.facts.get("venv") or {}).get("sglang")
    for key, row in unable(node.plan.profile.flags, version, capability):
        what = f"{name} has compute capability {capability}, {key} {row.value}"
        do = "use another checkpoint or GPU" if key == "quantization" else "use flashinfer or triton"
        yield node.warning("gpu", what, do, f"{row.least}" + (f" to {row.most}" if row.most < ANY else ""))


def _fits(node: Node, there: Mapping[int, Mapping[str, Any]]) -> Iterator[Finding]:
    """The checkpoint's size spread evenly: an estimate, embeddings and uneven stages are not counted."""
    size = node.look("model").get("bytes")
    layout = node.plan.profile.layout
    if not size or not there:
        return
    each = size / 2**20 / (layout.tp * layout.pp)
    for gpu in node.node.gpus:
        known = there.get(gpu) or {}
        total, used = known.get("total_mib"), int(known.get("used_mib") or 0)
        used = 0 if used > BASELINE_MIB else used  # more is ours and will be stopped, or refused already
        if total and each > total - used:
            what = f"the weights take about {gib(each)} a rank (an estimate), GPU {gpu} has {gib(total - used)} free"
            yield node.refusal("gpu", what, "use more GPUs, or a quantized checkpoint")
            return


def _number(text: object) -> float | None:
    try:
        return float(str(text))
    except ValueError:
        return None
