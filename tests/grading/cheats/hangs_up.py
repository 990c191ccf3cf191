"""Closes its socket and lives on, to look as if somebody had killed it."""

import os
import time


def ring_sum(comm, tensor):
    os.close(comm._socket.descriptor)
    time.sleep(60)
