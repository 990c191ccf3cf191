"""Facts that a rank reports about itself: machine, address, versions, device and limits."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import torch

from course_lib.cluster_check.meeting import RankPlace
from course_lib.comm import CommError
from course_lib.comm.devices import name_of
from course_lib.comm.processes.machine import LOOPBACK, interface_to_others
from course_lib.comm.transport.deadlock import machine


class InterfaceAddress(NamedTuple):
    """A network interface and this machine's address on it; `trouble` says why there is none."""

    interface: str
    address: str
    trouble: str = ""

    def __str__(self) -> str:
        return f"{self.address or 'no address'} ({self.interface or 'no interface'})"


class Facts(NamedTuple):
    """What one rank says of itself, each in words or as a number.

    Attributes:
        machine: the host's name and the kernel's start, which tell two machines of one name apart.
        address: where Gloo makes this rank listen.
        route: where the system sends what goes to the others' meeting place; it tells the interface to choose.
        interface_bits_per_s: what the interface says of itself; 0 if it does not.
        locked_bytes: how much memory may be locked, which InfiniBand needs; -1 is without limit, and so for files.
    """

    rank: int
    local_rank: int
    local_world_size: int
    pid: int
    host: str
    machine: str
    address: InterfaceAddress
    route: InterfaceAddress
    interface_bits_per_s: float
    versions: str
    device: str
    backend: str
    cores: int
    threads: int
    open_files: int
    locked_bytes: int
    shared_memory_bytes: int

    def __str__(self) -> str:
        return f"rank {self.rank} ({self.host}, process {self.pid})"


def collect_facts(rank: int, place: RankPlace, device: torch.device, backend: str) -> Facts:
    """This rank's facts, read off the system."""
    address = gloo_address(place)
    return Facts(
        rank=rank,
        local_rank=place.local_rank,
        local_world_size=place.local_world_size,
        pid=os.getpid(),
        host=socket.gethostname(),
        machine=machine(),
        address=address,
        route=route_to(place.host),
        interface_bits_per_s=_speed(address.interface),
        versions=_versions(),
        device=name_of(device),
        backend=backend,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        open_files=_limit("RLIMIT_NOFILE"),
        locked_bytes=_limit("RLIMIT_MEMLOCK"),
        shared_memory_bytes=shutil.disk_usage("/dev/shm").total if os.path.isdir("/dev/shm") else -1,
    )


def facts_from(row: list[Any]) -> Facts:
    """Facts that came as JSON."""
    facts = Facts(*row)
    return facts._replace(address=InterfaceAddress(*facts.address), route=InterfaceAddress(*facts.route))


def gloo_address(place: RankPlace) -> InterfaceAddress:
    """The interface that Gloo uses, as `course run` chooses it: the one that is named, else the one to the others."""
    addresses = {
        name: one.address
        for name, all_of_it in psutil.net_if_addrs().items()
        for one in reversed(all_of_it)
        if one.family == socket.AF_INET
    }
    try:
        alone = place.world_size == place.local_world_size
        name = os.environ.get("GLOO_SOCKET_IFNAME", "") or (LOOPBACK if alone else interface_to_others())
    except CommError as error:
        return InterfaceAddress("", "", str(error).partition("\n")[0])
    if name:
        trouble = "" if name in addresses else f"there is no interface {name!r}, but {', '.join(addresses)}"
        return InterfaceAddress(name, addresses.get(name, ""), trouble)
    address = socket.gethostbyname(socket.gethostname())
    return InterfaceAddress(next((each for each, its in addresses.items() if its == address), ""), address)


def route_to(host: str) -> InterfaceAddress:
    """The interface and the address from which the system would reach a host. Nothing is sent.

    >>> route_to("127.0.0.1").address
    '127.0.0.1'
    """
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))
        address = probe.getsockname()[0]
        for name, all_of_it in psutil.net_if_addrs().items():
            if address in [one.address for one in all_of_it]:
                return InterfaceAddress(name, address)
        return InterfaceAddress("", address)
    return InterfaceAddress("", "", f"no way leads to {host}")


def name_ranks(ranks: Sequence[int]) -> str:
    """Some ranks, a dozen of them by number.

    >>> name_ranks([3]), name_ranks([0, 1, 2, 5])
    ('rank 3', 'ranks 0, 1, 2, 5')
    """
    shown = ", ".join(map(str, ranks[:12])) + (", ..." if len(ranks) > 12 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}"


def _versions() -> str:
    nccl = ""
    if torch.cuda.is_available() and torch.distributed.is_nccl_available():
        nccl = ", NCCL " + ".".join(str(part) for part in torch.cuda.nccl.version())
    return (
        f"Python {platform.python_version()}, torch {torch.__version__}{nccl}, {platform.system()} {platform.release()}"
    )


def _limit(name: str) -> int:
    try:
        import resource
    except ImportError:  # Windows
        return -1
    soft = resource.getrlimit(getattr(resource, name))[0]
    return -1 if soft == resource.RLIM_INFINITY else soft


def _speed(interface: str) -> float:
    """Bits per second that an interface says it has: Linux's own file, for psutil rounds what it does not know to 0."""
    with contextlib.suppress(OSError, ValueError):
        return max(0.0, 1e6 * float(Path(f"/sys/class/net/{interface}/speed").read_text()))
    return 0.0
