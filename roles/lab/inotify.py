"""Room for many systemd at once: each takes inotify instances, all of them root's, and the kernel grants 128."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from roles.lab.record import Record

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
PER_HOST, OTHERS = 16, 128  # a container of ours takes about 6; what else runs as root gets what it always had


def raise_for(record: Record) -> Record:
    """Raise the limit if it is too low for the record's hosts, and note in the record what it was."""
    present, wanted = int(LIMIT.read_text()), OTHERS + PER_HOST * len(record.hosts)
    if present >= wanted or wanted <= OTHERS + PER_HOST * 2:
        return record
    LIMIT.write_text(str(wanted))
    return replace(record, inotify=record.inotify or present)


def restore(record: Record) -> None:
    if record.inotify:
        LIMIT.write_text(str(record.inotify))
