"""Sends lists in lists in lists, and a list that claims a million members."""

import os
import struct


def ring_sum(comm, tensor):
    nested = (b"L" + struct.pack("<I", 1)) * 100_000 + b"N"
    os.write(comm._socket.descriptor, struct.pack("<BI", 14, len(nested)) + nested)
    many = b"L" + struct.pack("<I", 2_000_000) + b"N" * 2_000_000
    os.write(comm._socket.descriptor, struct.pack("<BI", 14, len(many)) + many)
