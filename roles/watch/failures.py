"""How SGLang fails, as a table. One row: the text it shows itself by, what that means, what to do about it.

`weight` says what a row is worth when several speak at once:
  cause    the thing itself
  hint     explains a failure when nothing better does (it can also stand in a run that is well)
  echo     a consequence of another rank's or node's death: look there
  wrapper  SGLang's own frame around a failure: never the cause
The first row that fits a line is the one: special rows stand before general ones.
`ends`: after this line the server cannot come up (or has gone), whatever else is said.
`logged`: a cause in an ordinary line too; others are causes in tracebacks and in lines without a head, elsewhere hints.
`seen`: threads of sgl-project/sglang; "run" = provoked and read in a real log; "source" = read in SGLang's source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Weight = Literal["cause", "hint", "echo", "wrapper"]


@dataclass(frozen=True)
class Failure:
    """`regex` is searched in the message; its named groups fill the braces of `cause` and `do`."""

    id: str
    regex: str
    cause: str
    do: str
    weight: Weight = "cause"
    seen: str = ""
    ends: bool = False
    logged: bool = False
    since: str = "0.4.9"
    until: str = "0.5.23"


UNKNOWN = Failure("unknown", "", "{text}", "read the block below and the whole log", seen="any")

FAILURES = (
    # --- frames around a failure
    Failure(
        "scheduler-exception",
        r"^(?P<who>[A-Z]\w+) hit an exception: Traceback",
        "{who} stopped on an exception",
        "read the exception",
        "wrapper",
        "source",
        ends=True,
    ),
    Failure(
        "warmup-exception",
        r"^Initialization failed\. warmup error: Traceback",
        "SGLang's own first request failed",
        "read the exception",
        "wrapper",
        "run",
        ends=True,
    ),
    Failure(
        "shell-says",
        r"launch\.sh: line \d+: +\d+ (?P<what>Killed|Terminated|Aborted|Segmentation fault|Bus error)\b",
        "was ended by a signal: {what}",
        "if nothing above says why, it came from outside: look at dmesg -T and at the cgroup's memory.events",
        "wrapper",
        "run",
        ends=True,
    ),
    Failure(
        "sigquit",
        r"^Received sigquit from a child process|^SIGQUIT received\.",
        "a child process of main failed",
        "read what the child said",
        "wrapper",
        "source",
        ends=True,
    ),
    Failure(
        "rank-died-loading",
        r"Rank (?P<index>\d+) scheduler died during initialization \(exit code: (?P<code>-?\d+)\)",
        "a scheduler died while starting (exit code {code})",
        "read what that rank said",
        "wrapper",
        "source",
        ends=True,
        since="0.5.10.post1",
    ),
    Failure(
        "rank-dead",
        r"Rank (?P<index>\d+) scheduler is dead",
        "a scheduler is dead",
        "read what that rank said",
        "wrapper",
        "source",
        ends=True,
        until="0.5.9",
    ),
    Failure(
        "rank-exit-code",
        r"^Exit code: (?P<code>-?\d+)",
        "a process ended with exit code {code}",
        "read what it said",
        "wrapper",
        "source",
        until="0.5.9",
    ),
    Failure(
        "subprocess-crashed",
        r"Subprocess (?P<name>(?:scheduler_(?P<index>\d+))?\w*) \(pid=(?P<pid>\d+)\)"
        r" crashed with exit code (?P<code>-?\d+)",
        "{name} (pid {pid}) ended with exit code {code}",
        "read what that process said",
        "wrapper",
        "run",
        ends=True,
        since="0.5.10.post1",
    ),
    Failure(
        "child-failed",
        r"Child process unexpectedly failed with exitcode=(?P<code>-?\d+)\.? pid=(?P<pid>\d+)",
        "a child process (pid {pid}) ended with exit code {code}",
        "read what it said",
        "wrapper",
        "source",
        ends=True,
        until="0.4.9",
    ),
    Failure(
        "scheduler-terminated",
        r"Scheduler or DataParallelController \d+ terminated with (?P<code>-?\d+)",
        "the schedulers of this node ended",
        "read what they said; main of a node above 0 then exits with 0",
        "wrapper",
        "source",
    ),
    Failure(
        "see-above",
        r"^Initialization failed\. Please see the error messages above",
        "starting failed",
        "read the messages above it",
        "wrapper",
        "source",
        ends=True,
    ),
    Failure(
        "self-kill",
        r"^kill_process_tree called: .*include_parent=True",
        "main ended its processes and itself",
        "an exit status of 137 after this is main's own doing",
        "wrapper",
        "run",
    ),
    # --- asked to stop
    Failure(
        "stopped",
        r"^SIGTERM received|^Gracefully exiting\.\.\.|^INFO: +Shutting down$",
        "was told to stop, by a signal from outside",
        "ask who stopped it; nothing was wrong with it",
        seen="run",
        ends=True,
    ),
    # --- arguments
    Failure(
        "arguments",
        r"^\S[\w ./-]*: error: (?P<what>ambiguous option: .*|unrecognized arguments: .*|argument .*)",
        "the server does not accept its arguments: {what}",
        "write the flag out in full as this release spells it, in the profile's flags",
        seen="#7505 #4116 #12818 #5032, run",
        ends=True,
    ),
    Failure(
        "tp-nodes",
        r"tp_size must be divisible by number of nodes|(?P<what>\w+ must be divisible by \w+)",
        "the layout does not divide: {line}",
        "change tp, pp or nnodes",
        "hint",
        "source",
    ),
    Failure(
        "layout",
        r"moe_dense_tp_size only supports|multi-node data-parallel replicas are not supported"
        r"|is only supported on prefill nodes|not supported with pipeline parallelism|\(attn_cp_size must be 1\)",
        "this release of SGLang does not support the layout: {line}",
        "change the sizes, or leave out the flag that is named",
        "hint",
        "run, source",
    ),
    Failure(
        "context-length",
        r"User-specified context_length \((?P<asked>\d+)\) is greater than the derived context_length",
        "context-length {asked} is longer than the model's",
        "lower context_length, or allow it with SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
        "hint",
        "source",
    ),
    Failure(
        "no-program",
        r"launch\.sh: line \d+: (?P<what>.*?): (?:No such file or directory|cannot execute|Permission denied)",
        "the launch script could not run {what}",
        "look at `venv` and `python` of the profile and the host in the inventory",
        seen="run",
    ),
    # --- model files
    Failure(
        "model-path",
        r"HFValidationError: Repo id must be|is not a local folder and is not a valid model identifier",
        "the model path does not exist on this host, so it was taken for a name on the hub",
        "check the path on every node of the deployment",
        seen="#5386, run",
    ),
    Failure(
        "hub",
        r"GatedRepoError|RepositoryNotFoundError|Repository Not Found|OfflineModeIsEnabled|LocalEntryNotFoundError"
        r"|\b401 Client Error|Cannot find any model weights with",
        "the model could not be fetched or found on this node",
        "give a local path that exists on every node, or HF_TOKEN as a secret of the profile",
        seen="#5386",
    ),
    Failure(
        "architecture",
        r"Model architectures (?P<what>.*?) are not supported for now|has no SGLang? ?[Ii]mplementation"
        r"|Cannot find model module\. '\w+' is not a registered model",
        "this SGLang does not know the model's architecture",
        "look for a failed import of that model above (a failed compile can stand behind it), else update SGLang",
        seen="#9743, run",
    ),
    Failure(
        "quantization",
        r"The quantization method (?P<what>\S+) is not supported for the current GPU"
        r"|Quantization method specified in the model config .* does not match"
        r"|type fp8e4nv not supported in this architecture",
        "the quantization and the GPU, or the checkpoint, do not fit",
        "take another checkpoint, or leave out the quantization flag",
        seen="#7227, source",
    ),
    # --- memory
    Failure(
        "graph-memory",
        r"Capture [\w ]+graph failed: .*out of memory",
        "CUDA graphs do not fit beside weights and KV cache",
        "LOWER mem_fraction_static, or the largest batch of the graphs (cuda_graph_max_bs, since 0.5.14 "
        "cuda_graph_max_bs_decode)",
        seen="#5285",
    ),
    Failure(
        "graph-capture",
        r"Capture [\w ]+graph failed: (?P<what>.*)",
        "capturing CUDA graphs failed: {what}",
        "the reason stands behind the colon; the general advice printed with it often does not fit. "
        "Without graphs the fault shows itself plainly",
        seen="#5389 #7918",
    ),
    Failure(
        "gpu-memory",
        r"OutOfMemoryError: CUDA out of memory|CUDA out of memory\. Tried to allocate",
        "the GPU ran out of memory",
        "look at who else holds the GPU; more tensor or pipeline parallelism, or a smaller quantization",
        seen="#1869",
    ),
    Failure(
        "kv-pool",
        r"Not enough memory\. Please try to increase --mem-fraction-static",
        "no memory is left for the KV cache after the weights",
        "RAISE mem_fraction_static, or more GPUs, or an fp8 KV cache",
        seen="#322 #4330 #7691",
    ),
    Failure(
        "unbalanced",
        r"The memory capacity is unbalanced\. Some GPUs may be occupied",
        "one GPU has much less free memory than another",
        "look for what is left on it (another process, an old run, a display) and stop that",
        seen="#1533 #4233",
    ),
    Failure(
        "bus-error",
        r"Fatal Python error: Bus error",
        "memory behind a file went away: /dev/shm is full, or a weight file is cut short or on a failing disk",
        "look at df /dev/shm and the sizes of the weight files; or weight_loader_disable_mmap",
        seen="#6083 #5096",
    ),
    Failure(
        "rank-sigkill",
        r"[Ee]xit code:? -9\b",
        "a process was ended by SIGKILL",
        "the kernel's log or the cgroup's memory.events tells whether it was for lack of memory; a person or a "
        "job manager can do it too",
        "hint",
        "#20287 #15235",
    ),
    # --- other ranks and the network
    Failure(
        "other-ranks-slow",
        r"TP rank (?P<rank>\d+) could finish the model loading, but there are other ranks that didn't",
        "TP rank {rank} has loaded its weights; another rank has not, and the wait is over",
        "look at the ranks without weights loaded: a slow disk or a dead process there",
        seen="#5457 #4503 #7905",
    ),
    Failure(
        "nccl-system",
        r"NCCL error: unhandled system error",
        "NCCL could not use the system (sockets, shared memory, InfiniBand)",
        "look at the size of /dev/shm, set NCCL_SOCKET_IFNAME, and read what NCCL_DEBUG=INFO says",
        seen="#4289 #3460 #1986",
    ),
    Failure(
        "collective-timeout",
        r"Watchdog caught collective operation timeout: WorkNCCL",
        "a collective operation waited too long: some rank stopped, left or took another way",
        "look at the rank that says nothing, on every node",
        "echo",
        "#1693 #3783 #18421",
    ),
    Failure(
        "peer-gone",
        r"ncclRemoteError|remote process exited or there was a network error|Connection (?:closed|reset) by peer"
        r"|Failed to check the \"should dump\" flag on TCPStore|Broken pipe|Socket closed",
        "another process went away first",
        "look at the other ranks and nodes",
        "echo",
        "#22511, run",
    ),
    Failure(
        "interrupted",
        r"^KeyboardInterrupt\b",
        "a child was interrupted while main went down",
        "look at what main said before it",
        "echo",
        "run",
    ),
    Failure(
        "wrong-interface",
        r"Gloo connectFullMesh failed|Unable to resolve hostname to a \(local\) address\. Using the loopback",
        "the nodes met on the wrong network interface",
        "name it: `interface` of the host in the inventory (GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME)",
        "hint",
        "#3226 #868 #836 #3794",
    ),
    Failure(
        "clients-missing",
        r"DistStoreError|Timed out after \d+ seconds waiting for clients\. (?P<joined>\d+)/(?P<all>\d+) clients joined",
        "not every node or rank came to the meeting point in time",
        "look at the nodes that have not begun, and whether they reach node 0's address and port",
        seen="source",
    ),
    Failure(
        "http-port-taken",
        r"\[Errno 98\] error while attempting to bind on address \('(?P<address>[^']*)', (?P<port>\d+)",
        "the HTTP port {port} is taken by another process",
        "stop the holder of the port, or choose another; SGLang itself finds out only after the whole load",
        seen="run",
        ends=True,
    ),
    Failure(
        "inner-port-taken",
        r"EADDRINUSE|DistNetworkError|is not available in \d+ seconds|Port is already in use\. dist_init_port",
        "a port for the ranks' own traffic is taken",
        "look for what an old run left; name other ports (dist_port, nccl_port), or try once more: SGLang picks "
        "some at random",
        seen="#37215 #17402 #15392 #31645",
    ),
    Failure(
        "peer-access",
        r"peer access is not supported between these two devices|custom_all_reduce\.cuh",
        "these GPUs cannot reach each other's memory",
        "set disable_custom_all_reduce",
        seen="#4814 #14193",
    ),
    # --- the GPU, its driver, kernels
    Failure(
        "illegal-access",
        r"an illegal memory access was encountered|cudaErrorIllegalAddress",
        "a GPU kernel touched memory that is not its own",
        "CUDA reports it late, so the place named may be innocent: try another attention or MoE backend, no custom "
        "all-reduce, no graphs",
        seen="#8296 #8336 #16920 #11968 #18785",
    ),
    Failure(
        "no-kernel",
        r"no kernel image is available for execution on the device|Unsupported architecture"
        r"|only supported on (?:Blackwell|Hopper)",
        "a kernel was not built for this GPU",
        "install torch and sglang-kernel built for it, or take the flashinfer or triton backend",
        seen="#7249 #12178 #24633 #9140 #36531",
    ),
    Failure(
        "ordinal",
        r"CUDA error: invalid device ordinal",
        "there are more ranks on this node than GPUs that it may see",
        "change tp or pp, or CUDA_VISIBLE_DEVICES (the profile's gpus)",
        seen="source",
    ),
    Failure(
        "driver",
        r"The NVIDIA driver on your system is too old|CUDA driver version is insufficient"
        r"|No accelerator \(CUDA, XPU|Found no NVIDIA driver on your system",
        "the GPU driver is older than this build wants, or there is no GPU here",
        "nvidia-smi on the host; update the driver, or pass the GPUs into the container",
        seen="#11395",
    ),
    Failure(
        "build-tools",
        r"Could not find nvcc|CUDA_HOME environment variable is not set"
        r"|Command '\['ninja'.* returned non-zero|No such file or directory: 'n(?:vcc|inja)'",
        "a kernel had to be compiled and the tools for it are not found",
        "install them, and put CUDA_HOME and PATH into the profile's environment (an SSH command has no login shell)",
        seen="#5389 #1904",
    ),
    Failure(
        "numbers",
        r"Detected errors during sampling! NaN in the logits|probability tensor contains either"
        r"|device-side assert triggered",
        "the model computed values that are not numbers",
        "another backend, quantization or dtype",
        seen="#1953 #1571 #1764 #33187",
    ),
    Failure(
        "versions",
        r"is installed with version .*, which is less than the minimum required version"
        r"|with minimum required version .* is not installed",
        "a package that SGLang needs is missing or too old",
        "install the set of versions that belongs to this SGLang",
        seen="#3570 #6160 #10891",
    ),
    Failure(
        "module",
        r"(?:^|: )No module named '?(?P<what>[\w.]+)'?$",
        "the Python module {what} is not installed",
        "install it into the environment of the server (the profile's or host's venv)",
        seen="run",
    ),
    # --- time
    Failure(
        "watchdog",
        r"(?:^Watchdog|(?:Scheduler|TokenizerManager|DetokenizerManager|DataParallelController) watchdog)"
        r" timeout \(self\.watchdog_timeout=(?P<seconds>[\d.]+)",
        "one step took longer than the watchdog's {seconds} s",
        "find the rank that says nothing: the one that reports is often the healthy one. A first compile needs a "
        "longer watchdog_timeout",
        seen="#7783 #33289",
        logged=True,
    ),
    Failure(
        "warmup-proxy",
        r"Initialization failed\. warmup error: .*(?:\b502\b|\b403\b|ProxyError)"
        r"|^AssertionError: res=<Response \[(?:403|407|50[234])\]>|^requests\.exceptions\.ProxyError:",
        "a proxy variable caught SGLang's own first request, and it ended itself",
        "no_proxy=127.0.0.1,localhost,0.0.0.0 and the host's address in the profile's environment",
        seen="#2468 #2418 #9814 #9155, run",
        ends=True,
    ),
    Failure(
        "warmup-slow",
        r"Initialization failed\. warmup error: .*timed out|Read timed out\. \(read timeout=\d{3,}",
        "the first generation took longer than SGLang waits for it",
        "SGLANG_WARMUP_TIMEOUT=1800 in the profile's environment; the compiled kernels are kept for the next start",
        seen="#744",
        ends=True,
    ),
    Failure(
        "warmup",
        r"Initialization failed\. warmup error: (?P<what>.*)",
        "SGLang's own first request failed: {what}",
        "read what the ranks said at that time",
        seen="source",
        ends=True,
    ),
    Failure(
        "health",
        r"Health check failed\. Server couldn't get a response from detokenizer for last (?P<seconds>\d+) seconds",
        "no rank group answered a health request for {seconds} s",
        "a rank hangs, is stopped or dead, or the server is overloaded: look at every rank's process",
        "hint",
        "#22511, run",
    ),
    # --- disk
    Failure(
        "disk-full",
        r"No space left on device",
        "a disk of the host is full",
        "df and df -i on the host: ~/.cache, ~/.triton, /tmp, HF_HOME, /dev/shm, the log's own file system",
        "hint",
        "source",
    ),
    Failure(
        "permission",
        r"PermissionError|Permission denied|Read-only file system",
        "a file or folder may not be written or read",
        "look at owner and mode of what the line names; ~/.cache, ~/.triton, /tmp, HF_HOME must be writable",
        "hint",
        "source",
    ),
)

# What introduces the exception that ends a server; tracebacks behind other lines were survived.
FATAL = re.compile(r"[A-Z]\w+ hit an exception: |Initialization failed\. warmup error: ")

# The same words mean another thing at another time: (row, stage of the rank that said it) -> (cause, what to do).
MEANINGS = {
    **{
        ("unbalanced", stage): (
            "the GPUs have unequal memory left, and this server's own weights (a draft model's check comes after the "
            "main one's load) are part of it",
            "if nobody else is on the GPUs: SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0 in the profile's environment",
        )
        for stage in ("loaded", "memory", "capturing", "ready")
    },
    ("gpu-memory", "distributed"): (
        "the GPU was full before any weight was loaded",
        "another process holds it: stop that one, or choose other GPUs",
    ),
    ("gpu-memory", "loading"): (
        "the weights do not fit into this GPU's memory",
        "look at who else holds the GPU; more tensor or pipeline parallelism, or a smaller quantization",
    ),
    ("gpu-memory", "capturing"): (
        "CUDA graphs do not fit beside weights and KV cache",
        "LOWER mem_fraction_static, or the largest batch of the graphs",
    ),
    ("gpu-memory", "ready"): (
        "a request needed more GPU memory than weights, KV cache and graphs had left",
        "LOWER mem_fraction_static or chunked_prefill_size",
    ),
}
