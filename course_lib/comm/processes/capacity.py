"""How many ranks this machine holds."""

from __future__ import annotations

import psutil

from course_lib.comm.errors import TransportError

__all__ = ["refuse_too_many"]

_RANK_BYTES = 64 * 2**20  # memory that a rank needs beside its program (11 MB unique were measured; the rest is care)


def refuse_too_many(world_size: int, program_bytes: int) -> None:
    """Raise TransportError if the machine has too little memory or too few file handles for so many ranks."""
    free = psutil.virtual_memory().available
    rank_bytes = _RANK_BYTES + 2 * program_bytes
    most = int(free / rank_bytes)
    why = f"each needs about {rank_bytes / 1e6:.0f} MB and {free / 1e9:.1f} GB are free"
    files = _most_open_files()
    if 4 * world_size + 100 > files:
        most, why = min(most, (files - 100) // 4), f"this process may open {files} files"
    if world_size > most:
        raise TransportError(
            f"this machine holds at most {most} ranks, not {world_size}: {why}. simulate() takes thousands of ranks."
        )


def _most_open_files() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 2**31
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft
