"""The ports that must be free, read from the host's own socket table."""

from __future__ import annotations

from collections.abc import Iterator

from roles.check.finding import Finding, Node, described


def look(node: Node) -> Iterator[Finding]:
    """A finding for each port that is taken, else one for all."""
    taken = [
        (int(port), entry["holder"])
        for port, entry in node.facts["ports"].items()
        if entry.get("holder") and entry["holder"].get("run") not in node.ours
    ]
    for port, holder in taken:
        what = f"{_purpose(node, port)} {port} is held by"
        if holder.get("run"):
            name = holder.get("deployment")
            do = f"inv teardown --name {name}, or --replace"
            yield node.refusal("port", f"{what} the deployment {name} (run {holder['run']})", do)
        else:
            do = "end it or choose another port (--set port=…)" if port == node.node.port else "end it"
            yield node.refusal("port", f"{what} {described(holder)}", do)
    if not taken:
        yield node.ok("port", f"free: {', '.join(map(str, node.node.ports))}")


def _purpose(node: Node, port: int) -> str:
    return "port" if port == node.node.port else "SGLang's internal port"
