"""Names, addresses, interfaces and the other nodes, as this host sees them. Never touches a rendezvous port."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from .state import Json

PATIENCE = 3.0  # seconds for a name server or another node
SIOCGIFADDR = 0x8915


def nics(peers: List[Json], internal: Optional[str]) -> Json:
    """Everything at once, each in a thread of its own: a dead name server must not hold up the rest."""
    jobs: Dict[str, Callable[[], Any]] = {"hostname_means": lambda: resolved(socket.gethostname())}
    if internal:
        jobs["internal_means"] = lambda: resolved(internal or "")
    for peer in peers:
        jobs["peer " + str(peer["name"])] = _reaching(str(peer["address"]), int(peer["port"]))
    answers = _all(jobs)
    return {
        "hostname": socket.gethostname(),
        "hostname_means": answers["hostname_means"],
        "internal_means": answers.get("internal_means"),
        "interfaces": interfaces(),
        "peers": {str(peer["name"]): answers["peer " + str(peer["name"])] for peer in peers},
    }


def _all(jobs: Dict[str, Callable[[], Any]]) -> Dict[str, Any]:
    answers: Dict[str, Any] = dict.fromkeys(jobs)
    threads: List[threading.Thread] = []
    for name, job in jobs.items():
        threads.append(threading.Thread(target=lambda n=name, j=job: answers.update({n: j()}), daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join(PATIENCE + 1)
    return dict(answers)


def _plain(name: str) -> Any:
    """An ordinary name as bytes: as text it would go through the codec for foreign ones (2 ms to load)."""
    return name.encode() if name.isascii() else name


def resolved(name: str) -> List[str]:
    """The addresses a name has here; [] when it has none."""
    try:
        return sorted({str(found[4][0]) for found in socket.getaddrinfo(_plain(name), None, type=socket.SOCK_STREAM)})
    except OSError:
        return []


def interfaces() -> Dict[str, Json]:
    """Each interface: whether it is up, its addresses (IPv4 first) and speed (Mbit/s, where the driver says)."""
    found: Dict[str, Json] = {}
    sixes = _sixes()
    for _, name in socket.if_nameindex():
        state = (proc.read(f"/sys/class/net/{name}/operstate") or b"").decode().strip()
        speed = (proc.read(f"/sys/class/net/{name}/speed") or b"").decode().strip()
        four = _address(name)
        addresses = ([four] if four else []) + sixes.get(name, [])
        found[name] = {"state": state, "address": addresses[0] if addresses else None, "addresses": addresses,
                       "mbits": int(speed) if speed.isdigit() else None}  # fmt: skip
    return found


def _sixes() -> Dict[str, List[str]]:
    """Interface -> its IPv6 addresses that are valid beyond the link."""
    found: Dict[str, List[str]] = {}
    for row in (proc.read("/proc/net/if_inet6") or b"").decode().splitlines():
        address, _, _, scope, _, name = row.split()
        if scope != "20":
            found.setdefault(name, []).append(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(address)))
    return found


def _address(name: str) -> Optional[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked.fileno(), SIOCGIFADDR, struct.pack("256s", os.fsencode(name)[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])


def _reaching(address: str, port: int) -> Callable[[], Json]:
    """Is there a way to a node? Its SSH port is asked: refused is an answer as well, silence is none."""

    def ask() -> Json:
        try:
            where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        except OSError as error:
            why = f"{address} has no address here: {error.strerror or error}"
            return {"reached": False, "from": None, "error": why}
        source = _source(where)
        with socket.socket(where[0], socket.SOCK_STREAM) as tried:
            tried.settimeout(PATIENCE)
            try:
                tried.connect(where[4])
            except ConnectionRefusedError:
                pass
            except OSError as error:
                return {"reached": False, "from": source, "error": str(error.strerror or error)}
        return {"reached": True, "from": source, "error": None}

    return ask


def _source(where: Tuple[Any, ...]) -> Optional[str]:
    """This host's own address on the way there, by the routing table alone: no packet is sent."""
    with socket.socket(where[0], socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(where[4])
            return str(asked.getsockname()[0])
        except OSError:
            return None
