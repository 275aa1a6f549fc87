"""The server's own address -> what it answers. Proxies in the environment are never asked."""

from __future__ import annotations

import json
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Tuple

    Answer = Tuple[Optional[int], Any, Optional[str]]  # status, JSON or text, error

Scalar = (str, int, float, bool, type(None))
SECRET = r"api_key|token$|secret|password"  # max_total_tokens and served_model_name stay
MOST = 32 * 1024  # bytes of settings in a frame


class Server:
    """An HTTP server on this host. `http.client` reads no proxy variable, so nothing can come between."""

    def __init__(self, address: str, port: int, key: Optional[str] = None) -> None:
        self.address, self.port = address, port
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def ask(self, path: str, body: Optional[Dict[str, Any]] = None, timeout: float = 25.0, method: str = "") -> Answer:
        """GET, or POST with a body, or another method. One request, one connection, nothing raised."""
        import http.client  # with what it brings 12 ms: only when somebody is asked

        link = http.client.HTTPConnection(self.address, self.port, timeout=timeout)
        try:
            sent = None if body is None else json.dumps(body).encode()
            headers = dict(self._headers, **({"Content-Type": "application/json"} if sent else {}))
            link.request(method or ("GET" if sent is None else "POST"), path, sent, headers)
            reply = link.getresponse()
            text = reply.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            return None, None, f"{type(error).__name__}: {error}".rstrip(": ")
        finally:
            link.close()
        try:
            return reply.status, json.loads(text), None
        except ValueError:
            return reply.status, text, None

    def health(self, timeout: float) -> Tuple[Optional[int], float, Optional[str]]:
        """(status, seconds, error). SGLang takes at least 1 s to say 200 and up to 20 s to say 503."""
        began = time.monotonic()
        status, _, error = self.ask("/health", timeout=timeout)
        return status, round(time.monotonic() - began, 3), error

    def settings(self, timeout: float = 30.0) -> Tuple[Optional[Dict[str, Any]], Optional[str], Optional[str]]:
        """(effective settings, version, error). The path was /get_server_info before 0.5.7."""
        status, told, error = self.ask("/server_info", timeout=timeout)
        if status == 404:
            status, told, error = self.ask("/get_server_info", timeout=timeout)
        if status != 200 or not isinstance(told, dict):
            return None, None, error or f"HTTP {status}: {str(told)[:200]}"
        return effective(told), str(told.get("version") or "") or None, None

    def generate(self, model: str, prompt: str, timeout: float) -> Dict[str, Any]:
        """One short real generation: {status, text, seconds, tokens?, error?}."""
        began = time.monotonic()
        asked: Dict[str, Any] = {"model": model, "max_tokens": 8, "temperature": 0}
        chat = dict(asked, messages=[{"role": "user", "content": prompt}])
        status, told, error = self.ask("/v1/chat/completions", chat, timeout)
        if status in (400, 404):  # a model without a chat template
            status, told, error = self.ask("/v1/completions", dict(asked, prompt=prompt), timeout)
        result: Dict[str, Any] = {"status": status, "text": None, "seconds": round(time.monotonic() - began, 3)}
        try:
            choice = told["choices"][0]
            result["text"] = choice["message"]["content"] if "message" in choice else choice["text"]
            result["tokens"] = (told.get("usage") or {}).get("completion_tokens")
            if status == 200 and result["tokens"] == 0:
                result["error"] = "HTTP 200, but not one token was generated"
        except (TypeError, KeyError, IndexError):
            result["error"] = error or f"HTTP {status}: {str(told)[:300]}"
        return result


def effective(told: Dict[str, Any]) -> Dict[str, Any]:
    """/server_info -> one flat table. The scheduler's own view (internal_states) is newer than the top level's."""
    inner = told.get("internal_states")
    first = inner[0] if isinstance(inner, list) and inner and isinstance(inner[0], dict) else {}
    merged = dict(told)
    merged.update({key: value for key, value in first.items() if value is not None or key not in merged})
    kept = {key: value for key, value in merged.items() if isinstance(value, Scalar) and not re.search(SECRET, key)}
    while len(json.dumps(kept)) > MOST:
        del kept[max(kept, key=lambda key: len(str(kept[key])))]
    return kept
