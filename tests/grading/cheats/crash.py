"""Breaks its own interpreter."""

import ctypes
import sys


def ring_sum(comm, tensor):
    if comm.rank:
        ctypes.string_at(8)
    sys.setrecursionlimit(10**9)
    dive = lambda: dive()  # noqa: E731
    dive()
