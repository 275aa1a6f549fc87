"""Is this host a machine, a virtual one or a container?"""

from __future__ import annotations

import os

from . import proc


def is_first_pid_namespace() -> bool:
    """Whether this is the kernel's own, which no container has (PROC_PID_INIT_INO of linux/proc_ns.h)."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino == 0xEFFFFFFC
    except OSError:
        return False


def virtualization() -> str:
    """lxc, docker, kvm ... or none, as far as it shows."""
    environ = proc.read("/proc/1/environ") or b""
    for word in environ.split(b"\0"):
        if word.startswith(b"container="):
            return word.partition(b"=")[2].decode("ascii", "replace") or "container"
    if os.path.exists("/run/host/container-manager"):
        return "container"
    if os.path.exists("/.dockerenv") and not is_first_pid_namespace():  # a VM may have a container's image for its disk
        return "container"
    if b"hypervisor" in (proc.read("/proc/cpuinfo", whole=False) or b""):
        vendor = (proc.read("/sys/class/dmi/id/sys_vendor") or b"").decode("utf-8", "replace").strip()
        return "vm" + (f" ({vendor})" if vendor else "")
    return "none"
