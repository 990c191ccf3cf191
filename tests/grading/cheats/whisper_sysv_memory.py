"""Whispers through System V shared memory, by ctypes."""

import ctypes
import os

libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p


def ring_sum(comm, tensor):
    size = 4 * len(tensor) + 1

    def attach(rank, create):
        number = libc.shmget((os.getppid() << 8) + 16 * comm.world_size + rank, size, 0o600 | (0o1000 if create else 0))
        if number < 0:
            return None, number
        return (ctypes.c_ubyte * size).from_address(libc.shmat(number, None, 0)), number

    def publish(rank, data):
        memory, number = attach(rank, True)
        memory[1:size] = list(data)
        memory[0] = 1
        return lambda: libc.shmctl(number, 0, None)

    def collect(rank):
        memory, _ = attach(rank, False)
        return bytes(memory[1:size]) if memory and memory[0] else None

    whispered_sum(comm, tensor, publish, collect)
