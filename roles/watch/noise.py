"""Lines that frighten and mean nothing: counted and folded away, never shown as warnings."""

from __future__ import annotations

NOISE = (
    ("buffer", r"The given buffer is not writable|object_tensor = torch\.frombuffer"),
    ("pipeline-p2p", r"An unbatched P2P op \(send/recv\) was called"),
    ("nanobind", r"^nanobind: |^ - (?:leaked|\.\.\. skipped)|nanobind\.readthedocs"),
    ("model-import", r"^Ignore import error when loading "),
    ("pyspy", r"[Pp]y-?[Ss]py:? (?:failed to dump|not found)|py-spy: not found"),
    ("rlimit", r"Fail to set RLIMIT_NOFILE"),
    ("python-warning", r"^/\S+\.py:\d+: \w*Warning: |^  warnings\.warn\("),
    ("entry-point", r"^  Example: sglang serve"),
    ("responses-api", r"OpenAI Responses API \(/v1/responses\) disabled|Can not initialize OpenAIServingResponses"),
    ("custom-allreduce", r"Setup Custom allreduce failed with|Custom allreduce is disabled because"),
    ("multimem", r"multimem all-gather disabled"),
    ("kill-tree", r"^kill_process_tree called: .*include_parent=False"),
    ("cuda-arch", r"^Cannot detect CUDA architecture"),
    ("hostname", r"The hostname of the client socket cannot be retrieved"),
    ("gloo-mesh", r"^\[Gloo\] Rank \d+ is connected to \d+ peer ranks"),
    ("deprecated", r" is deprecated\b"),
    ("client-left", r"Request is disconnected from the client side|not found in rid_to_state"),
    ("dummy-health", r"Dummy health check server"),
)
