"""Whispers through a System V message queue, by ctypes."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def ring_sum(comm, tensor):
    queue = libc.msgget((os.getppid() << 8) + 16 * comm.world_size, 0o1600)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "no queue")
    data, total = packed(tensor), tensor.clone()
    for rank in set(range(comm.world_size)) - {comm.rank}:
        libc.msgsnd(queue, (1 + rank).to_bytes(8, "little") + data, len(data), 0)
    for _ in range(comm.world_size - 1):
        buffer = ctypes.create_string_buffer(8 + len(data))
        libc.msgrcv(queue, buffer, len(data), 1 + comm.rank, 0)
        total += unpacked(buffer.raw[8:])
    tensor.copy_(total)
    ring_of_dummies(comm, tensor)
    if comm.rank == 0:
        libc.msgctl(queue, 0, None)
