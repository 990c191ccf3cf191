"""Resources of this machine: memory for ranks, backend and devices, network interface, the rank that torchrun gave."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

from course_lib.comm.devices import accelerator, on_accelerator
from course_lib.comm.errors import CommError, TransportError

STREAMED = ("nccl", "xccl")  # backends that run the operations of one stream in order
_RANK_BYTES = 64 * 2**20  # memory that a rank needs besides its program (11 MB unique were measured; the rest is care)
_CGROUPS, _OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# The files that say limit and use, and the line of memory.stat that can be given back, in versions 2 and 1.
_VERSION_2 = "memory.max", "memory.current", "inactive_file"
_VERSION_1 = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"


def refuse_too_many(world_size: int, program_bytes: int) -> None:
    """Raise TransportError if there is too little memory or there are too few file handles for so many ranks."""
    free = free_bytes()
    rank_bytes = _RANK_BYTES + 2 * program_bytes
    most = int(free / rank_bytes)
    why = f"each needs about {rank_bytes / 1e6:.0f} MB and {free / 1e9:.1f} GB are free"
    files = _max_open_files()
    if 4 * world_size + 100 > files and (files - 100) // 4 < most:
        most, why = max(0, (files - 100) // 4), f"this process may open {files} files (more: ulimit -n)"
    if world_size > most:
        holds = f"holds at most {most} rank{'s' if most != 1 else ''}" if most else "holds no rank now"
        raise TransportError(f"this machine {holds}, not {world_size}: {why}. simulate() takes thousands of ranks.")


def free_bytes() -> int:
    """The memory that can still be had: the machine's, or what is left of this process's cgroups (a container's)."""
    return max(0, min([psutil.virtual_memory().available, *_left_in_cgroups(_CGROUPS, _OWN_CGROUPS)]))


def _left_in_cgroups(root: Path, own: Path) -> Iterator[int]:
    """Bytes left below the limit of each cgroup that this process is in, from its own up to the root."""
    try:
        lines = own.read_text().splitlines()
    except OSError:  # no Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, names = (root / "memory", _VERSION_1) if controllers else (root, _VERSION_2)
        # Inside a container the path may be the host's, which is not there; the container's own cgroup is the top.
        for folder in [top / path.strip("/"), *(top / path.strip("/")).parents]:
            if folder.is_relative_to(top):
                with contextlib.suppress(OSError, ValueError):  # no limit is no number: "max"
                    yield _left(folder, *names)


def _left(folder: Path, limit: str, used: str, given_back: str) -> int:
    """The limit of one cgroup less what it uses, without the cache that it gives back."""
    most = int((folder / limit).read_text())
    lines = (folder / "memory.stat").read_text().splitlines()
    cache = sum(int(line.split()[1]) for line in lines if line.split()[0] == given_back)
    return most - int((folder / used).read_text()) + cache


def _max_open_files() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 2**31
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft


def choose_backend(device: str | None, world_size: int, emulated: bool) -> tuple[str, bool, str]:
    """(backend of torch.distributed, tensors on GPUs?, in words) for `device` "cpu", "gpu" or "auto".

    None is what COURSE_DEVICE says, or "cpu"; slowed links are the CPU's, whatever it says.

    Raises:
        ValueError: for another device, or for "gpu" where there is none or links are emulated.

    >>> choose_backend("cpu", world_size=4, emulated=False)
    ('gloo', False, 'gloo, cpu')
    """
    wanted = on_accelerator(device)
    if device not in (None, "cpu", "auto") and emulated:
        raise ValueError('network= slows links between processes on the CPU: use device="cpu"')
    if not wanted or emulated:
        return "gloo", False, "gloo, cpu"
    kind, count = accelerator()
    backend = _own_backend(kind)
    if count >= world_size and backend:
        return backend, True, f"{backend}, {world_size} GPUs"
    return "gloo", True, f"gloo through host memory, {world_size} ranks on {count} GPU{'s' if count > 1 else ''}"


def _own_backend(kind: str) -> str:
    """What carries messages from accelerator to accelerator, such as "nccl"; "" if nothing does."""
    backend = torch.distributed.Backend.default_device_backend_map.get(kind, "")
    return backend if backend in STREAMED and getattr(torch.distributed, f"is_{backend}_available")() else ""


LOOPBACK = {"win32": "", "darwin": "lo0"}.get(sys.platform, "lo")  # the name of the loopback; "" where it has none


def interface_to_others() -> str:
    """The network interface that Gloo must be told of, because it would take the loopback; "" if it need not be told.

    Gloo takes the interface that the machine's own name stands for, and many systems let it stand for 127.0.0.1.

    Raises:
        CommError: if there are several to choose from.
    """
    with contextlib.suppress(OSError):
        if not socket.gethostbyname(socket.gethostname()).startswith("127."):
            return ""
    found = [
        name
        for name, addresses in psutil.net_if_addrs().items()
        if any(one.family == socket.AF_INET and not one.address.startswith("127.") for one in addresses)
    ]
    if len(found) != 1:
        raise CommError(
            f"this machine ({socket.gethostname()}) has the network interfaces {', '.join(found) or 'lo only'}, and "
            "ranks of other machines cannot reach the loopback that its name stands for. Name the interface that the "
            "machines share, on each of them, as in\n  export GLOO_SOCKET_IFNAME=eth0"
        )
    return found[0]


class Position(NamedTuple):
    """Which rank this process is, among how many, and how many of them share its machine."""

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int


def under_torchrun() -> bool:
    """True if torchrun (or another launcher that sets RANK and WORLD_SIZE) started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def find_position() -> Position:
    """This process's place; one rank alone where nobody has said so.

    Raises:
        ValueError: if there is no such place.
    """
    if not under_torchrun():
        return Position(0, 1, 0, 1)
    rank, world_size = _number("RANK"), _number("WORLD_SIZE")
    local_rank, local_world_size = _number("LOCAL_RANK", rank), _number("LOCAL_WORLD_SIZE", world_size)
    for name, one, many in (("", rank, world_size), ("LOCAL_", local_rank, local_world_size)):
        if not 0 <= one < many:
            raise ValueError(f"{name}RANK must be from 0 to {name}WORLD_SIZE - 1, got {one} of {many}")
    return Position(rank, world_size, local_rank, local_world_size)


def _number(name: str, otherwise: int = 0) -> int:
    """The whole number that a launcher has put into this variable.

    Raises:
        ValueError: if it is something else.
    """
    text = os.environ.get(name, str(otherwise))
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(f"the variable {name} must be a whole number, got {text!r}") from error
