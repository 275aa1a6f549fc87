"""Hosts on this machine to try everything on, with OpenSSH's own sshd and without a GPU."""

from __future__ import annotations

from roles.lab.host import LabHost
from roles.lab.install import sglang
from roles.lab.roster import lab_hosts, status
from roles.lab.verbs import down, up

__all__ = ["LabHost", "down", "lab_hosts", "sglang", "status", "up"]
