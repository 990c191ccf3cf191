"""Lets a process do nothing but compute and talk over the file descriptors it holds (Linux, x86-64 and arm64).

A seccomp filter is a small program in the kernel that sees the number and arguments of every system call. Ours allows
the calls in `ALLOWED`: memory, time, exit, and read and write on what is open already. Everything else (open, socket,
fork, kill, fcntl, shared memory, ptrace, ...) fails with "operation not permitted". It needs no root, cannot be taken
off, and holds for everything that the process runs afterwards, ctypes included.

Source: Linux, Documentation/userspace-api/seccomp_filter.rst; system call numbers from arch/x86/entry/syscalls/
syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from functools import cache

# name: (number on x86-64, number on arm64)
ALLOWED = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "sched_yield": (24, 124),
    "nanosleep": (35, 101),
    "setitimer": (38, 103),
    "getpid": (39, 172),
    "exit": (60, 93),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "sigaltstack": (131, 132),
    "getrandom": (318, 278),
    "rseq": (334, 293),
}

# A clock number can name another process, and its CPU time would then carry a message: only the system's own clocks.
# name: (argument, smallest value that is refused)
ARGUMENT_BELOW = {"clock_gettime": (0, 12), "clock_nanosleep": (0, 12)}
# Some kinds of advice move pages that processes share in or out of memory: only those that allocators give.
# name: (argument, values)
ARGUMENT_IN = {"madvise": (2, (4, 8, 14))}  # DONTNEED, FREE, HUGEPAGE
# Processes can wake each other at a word in memory that they share, a library's read-only page among them: only words
# of one's own. name: (argument, a bit that must be set)
ARGUMENT_HAS = {"futex": (1, 128)}  # FUTEX_PRIVATE_FLAG

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # machine: (column above, AUDIT_ARCH)

LOAD = 0x20
EQUAL = 0x15
AT_LEAST = 0x35
HAS = 0x45
RETURN = 0x06
KILL = 0x80000000
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM
# offsets in struct seccomp_data
NUMBER = 0
ARCHITECTURE = 4
ARGUMENTS = 16
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def supported() -> bool:
    """Whether this system is one that `install` knows."""
    return sys.platform == "linux" and platform.machine() in ARCHITECTURES and sys.maxsize > 2**32


@cache
def prepare() -> tuple[ctypes.CDLL, bytes]:
    """What `install` needs; made once, before ranks are forked."""
    return ctypes.CDLL(None, use_errno=True), _program(*ARCHITECTURES[platform.machine()])


def install() -> None:
    """Put the filter on this process, for good.

    Raises:
        OSError: if the kernel refuses it.
    """
    libc, code = prepare()
    program = _Program(len(code) // 8, code)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refused PR_SET_NO_NEW_PRIVS")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"the kernel refused the seccomp filter: {os.strerror(number)}")


def _program(column: int, architecture: int) -> bytes:
    """The filter: kill foreign architectures, allow what is listed, refuse the rest."""
    code = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    code += [(AT_LEAST, 0, 1, 0x40000000), (RETURN, 0, 0, KILL)]  # the x32 calls of x86-64
    for name, numbers in ALLOWED.items():
        if name in ARGUMENT_BELOW:
            argument, below = ARGUMENT_BELOW[name]
            checks = [(AT_LEAST, 1, 0, below)]
        elif name in ARGUMENT_HAS:
            argument, bit = ARGUMENT_HAS[name]
            checks = [(HAS, 0, 1, bit)]
        elif name in ARGUMENT_IN:
            argument, values = ARGUMENT_IN[name]
            more = len(values) - 1
            checks = [(EQUAL, more - i, i == more, value) for i, value in enumerate(values)]
        else:
            code += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, ALLOW)]
            continue
        code += _checked(numbers[column], argument, checks)
    code.append((RETURN, 0, 0, REFUSE))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def _checked(number: int, argument: int, checks: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Allow this call if the low half of its argument passes: the kernel reads these as 32-bit integers.

    Each check that passes goes to the first instruction after all checks, each that fails to the second.
    """
    return [
        (EQUAL, 0, len(checks) + 3, number),
        (LOAD, 0, 0, ARGUMENTS + 8 * argument),
        *checks,
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
