"""How many ranks this machine holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil

from course_lib.comm.errors import TransportError

__all__ = ["free_bytes", "refuse_too_many"]

_RANK_BYTES = 64 * 2**20  # memory that a rank needs beside its program (11 MB unique were measured; the rest is care)
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
    files = _most_open_files()
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


def _most_open_files() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 2**31
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft
