"""Announces a frame of 4 GiB, and tensors of impossible sizes inside small frames."""

import os
import struct


def ring_sum(comm, tensor):
    huge = b"T\1\1" + struct.pack("<q", 2**62)
    body = b"L" + struct.pack("<I", 2**32 - 1) + huge * 8
    kind = 10 + comm.rank % 2 * 4
    os.write(comm._socket.descriptor, struct.pack("<BI", kind, len(body)) + body)
    os.write(comm._socket.descriptor, struct.pack("<BI", 10, 2**32 - 1) + bytes(1 << 16))
