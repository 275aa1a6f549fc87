"""Hosts that are LXC containers: their own systemd, sshd with PAM sessions, cgroups; nearest to what a GPU host is."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from roles.inventory.errors import AllranksError
from roles.lab import rootfs
from roles.lab.commands import need, run
from roles.lab.folder import Folder
from roles.lab.host import SHARED_OPT, LabHost
from roles.lab.keys import sshd_config, write_config
from roles.lab.namespace import NamespaceHost
from roles.lab.network import PREFIX
from roles.lab.process import Process, parent, wait_until
from roles.lab.pythons import shown
from roles.lab.record import write

INSIDE = "/etc/allranks-lab"
CGROUPS = Path("/sys/fs/cgroup")
BOOT_SECONDS = 60  # systemd on a busy machine; 2 s is usual


class LxcHost(NamespaceHost):
    """One container. Its changes lie in `delta`, over the root that all share."""

    def boot(self) -> None:
        self.boot_all([self])

    @classmethod
    def boot_all(cls, hosts: Sequence[LabHost]) -> None:
        starting = [host for host in hosts if isinstance(host, LxcHost) and not host.alive]
        for host in starting:
            host.start()
        for host in starting:
            if not host.answers(BOOT_SECONDS):
                log = host.home / "boot.log"
                raise AllranksError(
                    f"{host.name}: no sshd {BOOT_SECONDS} s after the container started", do=f"see {log}"
                )

    def start(self) -> None:
        """Start the container; its systemd goes on by itself."""
        self._lay_out()
        run(self._lxc("start", "-d", "-o", str(self.home / "boot.log"), "-l", "INFO"), why=self.name)
        self.remember(int(run(self._lxc("info", "-p", "-H"), why=self.name)))

    def crash(self) -> None:
        """The container's monitor cleans up after it; until it has, the container cannot start again."""
        monitor = Process.of(parent(self.process.pid)) if self.process and self.process.alive else None
        super().crash()
        if monitor and not wait_until(lambda: not monitor.alive, 10):
            monitor.end()

    def sshd_stop(self) -> None:
        self.exec(["systemctl", "stop", "ssh"])

    def sshd_start(self) -> None:
        done = self.exec(["systemctl", "start", "ssh"])
        if done.returncode or not self.answers():
            raise AllranksError(f"{self.name}: sshd does not start: {done.stderr.strip()}")

    def _lxc(self, verb: str, *arguments: str) -> list[str]:
        need("lxc-start")
        return [need(f"lxc-{verb}"), "-P", str(self.home.parent), "-n", self.name, *arguments]

    def _lay_out(self) -> None:
        """What is this host's own, laid over the shared root before the container starts."""
        etc = self.home / "delta/etc"
        for place in (etc / "ssh", Path(f"{self.home}/delta{INSIDE}")):
            place.mkdir(parents=True, exist_ok=True)
        config = sshd_config(INSIDE, port=22, listen="0.0.0.0", pid_file="/run/sshd.pid", more=("UsePAM yes",))
        write_config(self.home, config, self.folder.key)
        for name, place in (
            ("sshd_config", etc / "ssh"),
            ("host_key", etc / "allranks-lab"),
            ("authorized_keys", etc / "allranks-lab"),
        ):
            write(place / name, (self.home / name).read_text(), 0o600)
        write(etc / "hostname", f"{self.name}\n")
        write(etc / "hosts", f"127.0.0.1 localhost\n{self.address} {self.name}\n")
        write(self.home / "config", "".join(f"{line}\n" for line in self._config()))

    def _config(self) -> list[str]:
        return [
            f"lxc.rootfs.path = overlay:{rootfs.place(self.record)}:{self.home}/delta",
            f"lxc.uts.name = {self.name}",
            f"lxc.cgroup.dir.monitor = {self.folder.bridge}/{self.name}-monitor",
            f"lxc.cgroup.dir.monitor.pivot = {self.folder.bridge}/{self.name}-pivot",
            f"lxc.cgroup.dir.container = {self.folder.bridge}/{self.name}",
            "lxc.apparmor.profile = unconfined",
            "lxc.cap.drop = mac_admin mac_override sys_time sys_module sys_rawio",
            "lxc.tty.max = 4",
            "lxc.pty.max = 1024",
            "lxc.signal.halt = SIGRTMIN+3",  # systemd's own, for `lxc-stop` by hand
            "lxc.mount.auto = proc:mixed sys:ro cgroup:mixed",
            "lxc.net.0.type = veth",
            "lxc.net.0.flags = up",
            "lxc.net.0.name = eth0",
            f"lxc.net.0.link = {self.folder.bridge}",
            f"lxc.net.0.veth.pair = {self.link}",
            f"lxc.net.0.hwaddr = {self.network.hardware_address(self.number)}",
            f"lxc.net.0.ipv4.address = {self.address}/{PREFIX}",
            _mounted(self.record.opt, SHARED_OPT),
            *(_mounted(place, place) for place in shown(Path(self.record.opt))),
        ]


def _mounted(source: str, target: str) -> str:
    """A line of fstab(5), where a space is written as \\040; the target is relative to the container's root."""
    source, target = (path.replace(" ", "\\040") for path in (source, target.lstrip("/")))
    return f"lxc.mount.entry = {source} {target} none rbind,ro,create=dir 0 0"


def remove_cgroups(folder: Folder) -> None:
    """LXC leaves its monitors' groups behind: all of this lab's lie beneath one name, in every hierarchy."""
    for top in (*CGROUPS.glob(f"*/{folder.bridge}"), CGROUPS / folder.bridge):
        for group in sorted(top.rglob("*/"), reverse=True):
            _remove(group)
        _remove(top)


def _remove(group: Path) -> None:
    if group.is_dir():
        wait_until(lambda: not (group / "cgroup.procs").read_text().strip(), 2)
        with contextlib.suppress(OSError):  # still in use: an empty group costs nothing, and `down` goes on
            group.rmdir()
