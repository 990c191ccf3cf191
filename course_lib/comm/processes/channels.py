"""Numbers for the channels on which a rank posts, the same on every rank without a message."""

from __future__ import annotations

import functools
import zlib
from typing import Any

__all__ = ["BARRIER", "code_of", "is_barrier", "tag_of"]

BARRIER = "barrier"


@functools.lru_cache(maxsize=1024)
def code_of(channel: tuple[Any, ...]) -> int:
    """A number of 28 bits for a channel: 0 for the program's own, 1 for its barriers, any other for a group's.

    >>> code_of(()), code_of(("barrier",)), code_of(((0, 2),)) > 1
    (0, 1, True)
    """
    if not channel:
        return 0
    return 1 if channel == (BARRIER,) else 2 + zlib.crc32(repr(channel).encode()) % (2**28 - 2)


def tag_of(channel: tuple[Any, ...], started: bool) -> int:
    """The tag of torch.distributed under which a channel's messages go; those of started functions have their own.

    >>> tag_of((), started=False), tag_of((), started=True), tag_of(("barrier",), started=False)
    (0, 1, 2)
    """
    return 2 * code_of(channel) + started


def is_barrier(channel: tuple[Any, ...]) -> bool:
    """True for the messages of a barrier, a group's too."""
    return BARRIER in channel
