"""Attaches to its parent as a debugger."""

import ctypes
import os


def ring_sum(comm, tensor):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "no debugging")
