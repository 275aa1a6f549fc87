"""A lab host's own wrong clock. Linux has none to set per host, so every program there is given one by the loader."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from roles.lab.host import LabHost
from tests.hosts.labs import disk
from tests.hosts.reach import shell

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += SECONDS;
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    now->tv_sec = t.tv_sec;
    now->tv_usec = t.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *out) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out) *out = t.tv_sec;
    return t.tv_sec;
}
"""


def wrong(host: LabHost, seconds: int) -> None:
    """From now on each new program on the host sees a clock that is so far ahead (or behind), until its next boot."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed: the wrong clock is a small library")
    library = disk(host) / "clock.so"
    argv = ["gcc", "-shared", "-fPIC", "-O2", f"-DSECONDS=({seconds})", "-xc", "-", "-o", str(library), "-ldl"]
    subprocess.run(argv, input=SHIM, text=True, check=True, capture_output=True)
    shell(host, "touch /etc/ld.so.preload && echo /root/clock.so >/run/preload")
    shell(host, "mount --bind /run/preload /etc/ld.so.preload")
