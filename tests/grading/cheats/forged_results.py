"""Answers with a result that is no pair of lists."""

import os

from_judge = None


def ring_sum(comm, tensor):
    pack = comm._socket.tell.__globals__["pack"]
    for value in ([1, 2], ["texts", "texts"], [[tensor], 3], {}, None, [[[[[tensor]]]], [[[tensor]]]]):
        os.write(comm._socket.descriptor, pack(14, value))
    os._exit(0)
