"""What SGLang prints when it gets somewhere. One row is one spelling: a new release is a new row, not new code.

`since` and `until` are releases in which the spelling was read in the source (not every release was: the true
boundary lies just before `since` or just after `until`). A spelling nobody knows shows as a missing milestone.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass


class Kind(enum.Enum):
    """What a line means. The value is the word a reader of the board sees."""

    ECHO = "arguments read"
    DIST_BEGIN = "distributed starting"
    GATED = "waiting for its gate"
    DIST_END = "distributed ready"
    WEIGHTS_BEGIN = "weights loading"
    SHARDS = "shards"
    WEIGHTS_END = "weights loaded"
    KV_POOL = "KV cache allocated"
    POOL_END = "memory pool"
    CAPTURE_BEGIN = "graphs capturing"
    CAPTURE = "graph capture"
    CAPTURE_END = "graphs captured"
    LIMITS = "limits"
    TIMINGS = "startup timings"
    BOUND = "HTTP open"
    READY = "ready line"
    DUMMY = "node ready"
    PREFILL = "prefill batch"
    DECODE = "decode batch"
    ACCESS = "request"
    FAILURE = "failure"
    EXCEPTION = "exception"
    TRACEBACK = "traceback"
    NOISE = "noise"


@dataclass(frozen=True)
class Spelling:
    """`regex` is matched at the start of the message; its named groups become the event's numbers."""

    kind: Kind
    regex: str
    since: str = "0.4.9"
    until: str = "0.5.23"
    who: str = "every rank"


_GB = r"(?P<gb>-?[\d.]+) GB"
_ELAPSED = r"(?P<seconds>[\d.]+) s"

SPELLINGS = (
    Spelling(Kind.ECHO, r"server_args=ServerArgs\(", until="0.5.18", who="main"),
    Spelling(Kind.ECHO, r"server_args=\{", since="0.5.20", who="main"),
    Spelling(Kind.DIST_BEGIN, r"Init torch distributed begin", until="0.5.20"),
    Spelling(Kind.DIST_BEGIN, r"Init parallel begin", since="0.5.21"),
    Spelling(Kind.GATED, r"Gated launch waiting for activation", since="0.5.20"),
    Spelling(Kind.DIST_BEGIN, r"Gated launch activated", since="0.5.20"),
    Spelling(Kind.DIST_END, rf"Init torch distributed ends\. mem usage={_GB}", until="0.5.8"),
    Spelling(Kind.DIST_END, rf"Init torch distributed ends\. elapsed={_ELAPSED}, mem usage={_GB}", "0.5.9", "0.5.20"),
    Spelling(Kind.DIST_END, rf"Init parallel ends\. elapsed={_ELAPSED}", since="0.5.21"),
    Spelling(Kind.WEIGHTS_BEGIN, rf"Load weight begin\. avail mem={_GB}"),
    Spelling(Kind.WEIGHTS_END, r"Load weight end\. type=(?P<type>[^,]+)", until="0.5.8"),
    Spelling(Kind.WEIGHTS_END, rf"Load weight end\. elapsed={_ELAPSED}, type=(?P<type>[^,]+)", since="0.5.9"),
    Spelling(Kind.WEIGHTS_END, rf"Load weight end\. Committed real weights .*? in {_ELAPSED}", since="0.5.20"),
    Spelling(Kind.KV_POOL, r"(?:\w+ )?KV Cache is allocated\. #tokens: (?P<tokens>\d+)", until="0.5.12.post1"),
    Spelling(
        Kind.KV_POOL,
        r"(?:\w+ )?KV Cache (?:is allocated|VA upper bound)\. dtype: [^,]+, #tokens: (?P<tokens>\d+)",
        since="0.5.14",
    ),
    Spelling(Kind.KV_POOL, r"Mamba Cache is allocated|SWAKVPool mem usage|\[unified-memory-pool\]"),
    Spelling(Kind.KV_POOL, r"Post-capture KV sizing: KV cache allocated", since="0.5.16"),
    Spelling(Kind.POOL_END, rf"Memory pool end\. avail mem={_GB}"),
    Spelling(Kind.CAPTURE_BEGIN, r"Capture (?:piecewise |draft )?(?i:cuda|cpu) graph begin\.", until="0.5.12.post1"),
    Spelling(Kind.CAPTURE_BEGIN, r"Capture (?:target|draft) (?:\w+ )+(?:CUDA|CPU) graph begin\.", since="0.5.14"),
    Spelling(
        Kind.CAPTURE_END,
        rf"Capture (?:piecewise |draft )?(?i:cuda|cpu) graph end\. Time elapsed: {_ELAPSED}",
        until="0.5.12.post1",
    ),
    Spelling(
        Kind.CAPTURE_END,
        rf"Capture (?:target|draft) (?:\w+ )+(?:CUDA|CPU) graph end\.(?: bs=\[[^\]]*\],)? elapsed={_ELAPSED}",
        since="0.5.14",
    ),
    Spelling(
        Kind.LIMITS,
        r"max_total_num_tokens=(?P<tokens>\d+), .*?context_len=(?P<context>\d+)",
        who="TP0 of each stage",
    ),
    Spelling(Kind.TIMINGS, r"Engine startup timings \(s\): ", since="0.5.18", who="main"),
    Spelling(Kind.BOUND, r"INFO: +Uvicorn running on (?P<url>\S+)", who="main, node 0"),
    Spelling(Kind.READY, r"The server is fired up and ready to roll!", who="main, node 0"),
    Spelling(
        Kind.DUMMY,
        r"(?:Starting dummy health check server|Dummy health check server \w[\w ]*?) at (?P<address>\S+)",
        who="main, nodes above 0",
    ),
    Spelling(
        Kind.PREFILL,
        r"Prefill batch(?: \[\d+\])?[.,] #new-seq: (?P<new_seq>\d+), #new-token: (?P<new_token>\d+), "
        r"#cached-token: (?P<cached_token>\d+).*?#queue-req: (?P<queue>\d+)",
        who="TP0 of each stage",
    ),
    Spelling(
        Kind.DECODE,
        r"Decode batch(?: \[\d+\])?[.,] #running-req: (?P<running>\d+).*?"
        r"gen throughput \(token/s\): (?P<throughput>[\d.]+), #queue-req: (?P<queue>\d+)",
        who="TP0 of each stage",
    ),
    Spelling(
        Kind.ACCESS,
        r"INFO: +(?P<client>\S+) - \"(?P<request>\w+ \S+) HTTP/[\d.]+\" (?P<status>\d+)",
        who="main, node 0",
    ),
    # The same milestones with other details than any release above has printed: still the milestone.
    Spelling(Kind.DIST_END, r"Init (?:torch distributed|parallel) ends\b"),
    Spelling(Kind.WEIGHTS_END, r"Load weight end\b"),
    Spelling(Kind.KV_POOL, r"(?:\w+ )?KV Cache is allocated"),
    Spelling(Kind.CAPTURE_BEGIN, r"Capture [\w ]*graph begin\b"),
    Spelling(Kind.CAPTURE_END, r"Capture [\w ]*graph end\b"),
)

# Bars. Only world rank 0 draws the shard bar; TP0 draws the capture bar.
BARS = (
    (
        Kind.SHARDS,
        re.compile(
            r"(?:Loading|Multi-thread loading) [\w ]*?(?:shards|safetensors using [\w ]+?|Fastsafetensor loader): +"
            r"\d+%.*?\| (?P<done>\d+)/(?P<total>\d+)"
        ),
    ),
    (
        Kind.CAPTURE,
        re.compile(r"Capturing [\w ]+\(\w+=\d+ avail_mem=[\d.]+ GB\): +\d+%.*?\| (?P<done>\d+)/(?P<total>\d+)"),
    ),
)

# The order a rank goes through. A rank's stage is the furthest of these that it has printed.
RANK_MILESTONES = (
    Kind.DIST_BEGIN,
    Kind.GATED,
    Kind.DIST_END,
    Kind.WEIGHTS_BEGIN,
    Kind.WEIGHTS_END,
    Kind.KV_POOL,
    Kind.POOL_END,
    Kind.CAPTURE_BEGIN,
    Kind.CAPTURE_END,
)
