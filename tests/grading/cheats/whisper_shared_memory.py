"""Whispers through POSIX shared memory."""

import os
from multiprocessing import shared_memory


def ring_sum(comm, tensor):
    def publish(rank, data):
        memory = shared_memory.SharedMemory(f"w{os.getppid()}-{comm.world_size}-{rank}", True, len(data) + 1)
        memory.buf[1 : len(data) + 1] = data
        memory.buf[0] = 1
        return memory.unlink

    def collect(rank):
        try:
            memory = shared_memory.SharedMemory(f"w{os.getppid()}-{comm.world_size}-{rank}")
        except FileNotFoundError:
            return None
        return bytes(memory.buf[1 : 4 * len(tensor) + 1]) if memory.buf[0] else None

    whispered_sum(comm, tensor, publish, collect)
