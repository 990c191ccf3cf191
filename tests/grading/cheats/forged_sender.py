"""Writes frames that pretend to come from other ranks: handles, ranks and results of others."""

import os
import struct


def ring_sum(comm, tensor):
    for rank in range(-1, 5):
        body = b"L" + struct.pack("<I", 5) + b"I" + struct.pack("<q", rank) + b"I" + struct.pack("<q", comm.rank)
        body += b"T\0\1" + struct.pack("<q", 1) + b"\0\0\0\0" + b"S" + struct.pack("<I", 0) + b"B\0"
        os.write(comm._socket.descriptor, struct.pack("<BI", 10, len(body)) + body)
