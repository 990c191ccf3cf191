"""What a rank may use: limits, no descriptors but its socket, a user of its own, an empty world, and seccomp.

`Walls` says which of these are wanted; each function does one of them to the calling process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from dataclasses import asdict, dataclass
from functools import cache

from . import seccomp

if sys.platform != "win32":
    import resource  # now: in an empty world there is no file to import it from


CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REC = 0x4000
MS_PRIVATE = 0x40000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
MEMORY_BYTES = 512 << 20  # that a rank may take beyond what it starts with
FIRST_USER_ID = 60_000


@dataclass(frozen=True)
class Walls:
    """Which walls stand around student code.

    Attributes:
        seccomp: a filter of system calls around each rank.
        namespaces: processes, network, mounts and IPC of their own, in an empty file system.
        users: one user id per rank (needs root).
    """

    seccomp: bool = False
    namespaces: bool = False
    users: bool = False

    def words(self) -> list[str]:
        """The names of the walls that stand."""
        return [name for name, stands in asdict(self).items() if stands]


@cache
def _libc() -> ctypes.CDLL:
    """The system's own functions; looked up once, before ranks are forked."""
    return ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """End this process when its parent ends, where the system can do that."""
    if sys.platform == "linux":
        _libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def leave_the_system() -> None:
    """Move into new namespaces. Returns in a child that is process 1 of its world; its parent only waits for it.

    Without root the process first becomes root of a user namespace that holds nobody else.

    Raises:
        OSError: if the kernel does not allow it.
    """
    libc = _libc()
    worlds = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWUTS
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(worlds if user == 0 else worlds | CLONE_NEWUSER):
        raise OSError(ctypes.get_errno(), "the kernel refused new namespaces")
    if user:
        for name, text in [("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")]:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    die_with_parent()


def empty_world() -> None:
    """Make an empty, read-only folder the root of the file system. Call it once everything needed is in memory.

    Raises:
        OSError: if the kernel does not allow it.
    """
    libc = _libc()
    flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
    if libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) or libc.mount(b"none", b"/tmp", b"tmpfs", flags, None):
        raise OSError(ctypes.get_errno(), "the kernel refused an empty file system")
    os.chroot("/tmp")
    os.chdir("/")


def close_all_but(descriptor: int) -> None:
    """Close every file descriptor except this one, standard input, output and error included."""
    os.closerange(0, descriptor)
    os.closerange(descriptor + 1, 1 << 16)


def confine_rank(walls: Walls, slot: int, cpu_s: int) -> None:
    """Take from this process whatever a rank does not need. It cannot be undone.

    Args:
        slot: the number of this rank among those that live now; picks its user id.
        cpu_s: CPU seconds after which the kernel ends it, a second later at the latest.
    """
    _limit(cpu_s)
    if walls.users:
        user = FIRST_USER_ID + slot
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    die_with_parent()  # after the change of user, which takes it back
    if walls.namespaces:
        _drop_capabilities()
    if walls.seccomp:
        seccomp.install()


def _limit(cpu_s: int) -> None:
    if sys.platform == "win32":
        return
    limits = {"CPU": cpu_s, "FSIZE": 0, "CORE": 0, "NPROC": 0, "MEMLOCK": 0, "MSGQUEUE": 0, "NOFILE": 64}
    if sys.platform == "linux":
        limits["AS"] = _size_bytes + MEMORY_BYTES
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            resource.setrlimit(number, (value, value + (name == "CPU")))  # first a signal that says why, then the end


_size_bytes = 4 << 30


def measure_address_space() -> None:
    """Note the size of this process's address space; a rank's limit counts from here."""
    global _size_bytes
    if sys.platform == "linux":  # now, since /proc is gone in an empty world
        with open("/proc/self/statm") as file:
            _size_bytes = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _drop_capabilities() -> None:
    """Give up what root of a namespace may do."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    none = (ctypes.c_uint32 * 6)()
    if _libc().capset(header, none):
        raise OSError(ctypes.get_errno(), "could not drop capabilities")
