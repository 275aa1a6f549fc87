"""An address and a port -> one word, as URLs, known_hosts and SGLang's flags write it."""

from __future__ import annotations


def endpoint(address: str, port: int | None) -> str:
    """`10.0.0.1:8000`, `[fd00::1]:8000`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def url(address: str, port: int | None) -> str:
    """Where an HTTP server is reached."""
    return f"http://{endpoint(address, port)}"
