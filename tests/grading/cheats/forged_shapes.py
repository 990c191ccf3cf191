"""Answers with tensors of shapes, dtypes and nestings that nobody can compare."""

import os
import struct


def tensor_of(dtype, *sizes):
    return b"T" + bytes([dtype, len(sizes)]) + b"".join(struct.pack("<q", size) for size in sizes)


def ring_sum(comm, tensor):
    kinds = {1: tensor_of(0, 0, 2**24, 2**24, 2**24), 2: tensor_of(11, 1) + bytes(16), 3: tensor_of(17, 0), 4: b"N"}
    odd = kinds[comm.world_size]
    for _ in range(comm.world_size - 1):
        odd = b"L" + struct.pack("<I", 1) + odd
    body = b"L" + struct.pack("<I", 2) + 2 * (b"L" + struct.pack("<I", 1) + odd)
    os.write(comm._socket.descriptor, struct.pack("<BI", 14, len(body)) + body)
    os._exit(0)
